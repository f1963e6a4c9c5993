"""The experiments of Cakmak, Gao and Zhou, regenerated: figures, tables and a page about them."""
