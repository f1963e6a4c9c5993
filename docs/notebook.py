"""A hook of mkdocs: a page that says `<!-- notebook: NAME.ipynb -->` becomes that notebook."""

import html
import json
import re
from pathlib import Path
from typing import Any

_PLACE = re.compile(r"<!-- notebook: ([\w.-]+\.ipynb) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with its notebook in it."""
    return _PLACE.sub(lambda found: "\n\n".join(_parts(Path(__file__).parent / found[1])), markdown)


def _parts(path: Path) -> list[str]:
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell.get("outputs", ())]
    return parts


def _shown(output: dict[str, Any]) -> str:
    data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
    if "image/png" in data:
        picture = data["image/png"].replace("\n", "")
        wide = output.get("metadata", {}).get("image/png", {}).get("width", "")  # pictures have more pixels
        size = f' width="{wide}"' if wide else ""
        source = f"data:image/png;base64,{picture}"
        return f'<img class="output"{size} alt="what the cell above draws" src="{source}">'
    if "text/html" in data:  # without empty lines, after which markdown would begin again
        together = re.sub(r"\n\s*", " ", data["text/html"])
        return f'<div class="output">{together}</div>'
    text = data.get("text/plain", "".join(output.get("text", ())))
    return f'<pre class="output">{html.escape(text)}</pre>'
