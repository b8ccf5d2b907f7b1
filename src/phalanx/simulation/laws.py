from .traced import Traced


def run_law(law, given, view, own):
    r = law(*[g.scalars for g in given], view)
    return r.scalars if isinstance(r, Traced) else r


def run_function(f, given, view, own, where):
    return run_law(f, given, view, own)
