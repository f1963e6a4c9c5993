"""Make room.fmu from room.c, with the C compiler of this machine: python make_fmu.py."""

import subprocess
import zipfile
from pathlib import Path

import fmpy

HERE = Path(__file__).parent
VARIABLES = {"power": "parameter", "outside": "parameter", "energy": "output", "discomfort": "output"}
VARIABLE = (
    '<ScalarVariable name="{0}" valueReference="{1}" causality="{2}" variability="{3}"{4}><Real {5}/>'
    "</ScalarVariable>"
)
DESCRIPTION = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="room" guid="room-1">
<CoSimulation modelIdentifier="room" canHandleVariableCommunicationStepSize="true"/>
<ModelVariables>{}</ModelVariables>
<ModelStructure><Outputs><Unknown index="3"/><Unknown index="4"/></Outputs></ModelStructure>
</fmiModelDescription>
"""

if __name__ == "__main__":
    library = HERE / f"room{fmpy.sharedLibraryExtension}"
    headers = Path(fmpy.__file__).parent / "c-code"
    command = ["cc", "-shared", "-fPIC", "-O2", f"-I{headers}", "-o", str(library), str(HERE / "room.c")]
    subprocess.run(command, check=True)
    kinds = {"parameter": ("fixed", ' initial="exact"', 'start="0"'), "output": ("continuous", "", "")}
    variables = [
        VARIABLE.format(name, i, kind, *kinds[kind]) for i, (name, kind) in enumerate(VARIABLES.items())
    ]
    with zipfile.ZipFile(HERE / "room.fmu", "w") as fmu:
        fmu.writestr("modelDescription.xml", DESCRIPTION.format("".join(variables)))
        fmu.write(library, f"binaries/{fmpy.platform}/{library.name}")
    library.unlink()
