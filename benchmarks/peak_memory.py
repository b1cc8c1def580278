"""Most memory this process has held at once."""
import resource


def peak_memory():
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except OSError:  # no /proc outside Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
