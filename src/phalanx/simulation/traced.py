import numpy as np


class Traced:
    def __init__(self, scalars):
        self.scalars = scalars


def scalars_of(value, shape, where):
    if isinstance(value, Traced):
        value = value.scalars
    return np.broadcast_to(np.asarray(value, dtype=object), shape)
