"""A crossing in SUMO: ten minutes of traffic from the south and from the west."""

import subprocess
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import sumo

FLOW = '<flow id="{0}" from="{1}" to="{2}" begin="0" end="600" probability="{3}" departSpeed="max"/>'
WAYS = ("bottom0A0", "A0top0"), ("left0A0", "A0right0")  # names that netgenerate gives to the roads


def run(folder, program, options):
    """Run a program of SUMO."""
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [Path(sumo.SUMO_HOME, "bin", program), *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def simulate(alternative, context, seed):
    """Return how many seconds a vehicle loses on average."""
    with tempfile.TemporaryDirectory() as folder:
        net = {"grid": "true", "grid.number": 1, "grid.attach-length": 300, "output-file": "net.xml"}
        lights = {"default-junction-type": "traffic_light", "tls.green.time": alternative["green"]}
        run(folder, "netgenerate", net | lights)
        flows = [FLOW.format(i, *way, context["vehicles"] / 3600) for i, way in enumerate(WAYS)]
        Path(folder, "routes.xml").write_text(f"<routes>{''.join(flows)}</routes>")
        files = {"net-file": "net.xml", "route-files": "routes.xml", "statistic-output": "out.xml"}
        run(folder, "sumo", files | {"seed": seed, "duration-log.statistics": "true"})
        # For several responses return a dict of numbers: {"lost": ..., "stops": ...}.
        return float(ET.parse(Path(folder, "out.xml")).find("vehicleTripStatistics").get("timeLoss"))
