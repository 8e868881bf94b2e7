"""Programs on a GPU: stages of few registers and little traffic, their CUDA text, and calls through CuPy."""
