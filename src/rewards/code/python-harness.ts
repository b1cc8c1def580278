/**
 * Python that stands between the child and the program: it runs before the snapshot is taken, and \`run\` of it once for each
 * program. It reads /run/request and leaves its answer in the file that the request names.
 */
export const PYTHON_HARNESS = String.raw`
import sys, os, io, json, types, builtins
import abc, array, base64, bisect, calendar, cmath, collections, collections.abc, contextlib, copy, csv, dataclasses, datetime
import decimal, enum, fractions, functools, hashlib, heapq, inspect, itertools, math, numbers, operator, queue, random, re
import statistics, string, struct, textwrap, threading, time, traceback, typing, unicodedata, warnings
import asyncio, asyncio.base_events, asyncio.events

class _Clock:
    now = 0.0
    def select(self, timeout):
        if timeout is None:
            raise RuntimeError('every task waits for another')
        _Clock.now += max(timeout, 0)
        return []
    def close(self):
        pass

class _Loop(asyncio.base_events.BaseEventLoop):
    """Waits on a virtual clock: there is nothing outside to wait for."""
    def __init__(self):
        super().__init__()
        self._selector = _Clock()
    def time(self):
        return _Clock.now
    def _process_events(self, events):
        pass
    def _write_to_self(self):
        pass

class _Policy(asyncio.events._AbstractEventLoopPolicy if hasattr(asyncio.events, '_AbstractEventLoopPolicy') else object):
    _loop = None
    def get_event_loop(self):
        if self._loop is None:
            self._loop = _Loop()
        return self._loop
    def set_event_loop(self, loop):
        self._loop = loop
    def new_event_loop(self):
        return _Loop()

asyncio.run = asyncio.runners.run

def _make():
    loads, join = json.loads, ''.join
    # All in C: a program that patches json or builtins does not touch it.
    encoder = json.encoder.c_make_encoder(None, None, json.encoder.encode_basestring_ascii, None, ':', ',', False, False, True)
    def dumps(value):
        return join(encoder(value, 0))
    sorted_, getattr_, callable_, dict_, list_, tuple_, set_, frozenset_, range_ = sorted, getattr, callable, dict, list, tuple, set, frozenset, range
    Function, Module, ValueError_, TypeError_, NameError_, run_async, FileIO, Writer, Reader, Text = types.FunctionType, types.ModuleType, ValueError, TypeError, NameError, asyncio.run, io.FileIO, io.BufferedWriter, io.BufferedReader, io.TextIOWrapper
    array_ = array.array
    os_open, os_read, os_write, os_close, unlink = os.open, os.read, os.write, os.close, os.unlink
    READ, WRITE = os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    compile_, exec_, isinstance_, type_, str_, int_, float_, len_ = compile, exec, isinstance, type, str, int, float, len
    print_exception = traceback.print_exception
    BaseException_, SyntaxError_, MemoryError_, SystemExit_, KeyboardInterrupt_ = BaseException, SyntaxError, MemoryError, SystemExit, KeyboardInterrupt
    LARGE = 2 ** 53 - 1
    deque, KeysView, ValuesView = collections.deque, collections.abc.KeysView, collections.abc.ValuesView

    def plain(value, depth=0):
        if value is None or value is True or value is False:
            return value
        if depth > 200:
            raise ValueError_('a value nested too deeply for JSON')
        if isinstance_(value, str_):
            return value
        if isinstance_(value, int_):
            return value if -LARGE <= value <= LARGE else str_(value)
        if isinstance_(value, float_):
            if value != value:
                return 'NaN'
            if value in (float_('inf'), float_('-inf')):
                return 'Infinity' if value > 0 else '-Infinity'
            return value
        if isinstance_(value, dict_):
            return {key if isinstance_(key, str_) else dumps(plain(key)): plain(item, depth + 1) for key, item in value.items()}
        if isinstance_(value, (list_, tuple_, deque, range_, KeysView, ValuesView, array_)):
            return [plain(item, depth + 1) for item in value]
        if isinstance_(value, (set_, frozenset_)):
            try:
                return [plain(item, depth + 1) for item in sorted_(value)]
            except TypeError_:
                return [plain(item, depth + 1) for item in value]
        raise TypeError_('a value of type ' + type_(value).__name__ + ' is no JSON value')

    def read(path):
        fd = os_open(path, READ)
        parts = []
        while True:
            part = os_read(fd, 1 << 20)
            if not part:
                break
            parts.append(part)
        os_close(fd)
        unlink(path)
        return b''.join(parts).decode('utf-8', 'surrogatepass')

    def first_line(error):
        try:
            return (type_(error).__name__ + ': ' + str_(error)).split('\n')[0][:300]
        except BaseException_:
            return 'an error that cannot be shown'

    def find(scope, name):
        first, *rest = name.split('.')
        found = scope.get(first, scope)
        if found is scope:
            holder = scope.get('Solution')
            found = getattr_(holder(), first, None) if holder is not None else None
        for part in rest:
            if isinstance_(found, type_) and isinstance_(found.__dict__.get(part), Function):
                found = found()
            found = getattr_(found, part, None)
        if not callable_(found):
            raise NameError_(name + ' is not a function of the program')
        return found

    def streams():
        def out(fd):
            return Text(Writer(FileIO(fd, 'w', closefd=False)), encoding='utf-8', errors='backslashreplace')
        sys.stdin = sys.__stdin__ = Text(Reader(FileIO(0, 'r', closefd=False)), encoding='utf-8', errors='replace')
        sys.stdout = sys.__stdout__ = out(1)
        sys.stderr = sys.__stderr__ = out(2)

    set_running_loop = asyncio._set_running_loop

    def run():
        set_running_loop(None)
        request = loads(read('/run/request'))
        answer = {'verdict': 'sandbox-error', 'detail': ''}
        streams()
        stdout, stderr = sys.stdout, sys.stderr
        main = Module('__main__')
        main.__builtins__ = builtins
        sys.modules['__main__'] = main
        sys.argv = ['program.py']
        scope = main.__dict__
        step = 'compile-error'
        try:
            code = compile_(request['source'], 'program.py', 'exec', 0, True)
            step = 'runtime-error'
            if not request.get('compileOnly'):
                exec_(code, scope)
                call = request.get('call')
                if call is not None:
                    value = find(scope, call['name'])(*call['arguments'])
                    if type_(value).__name__ == 'coroutine':
                        value = run_async(value)
                    answer['value'] = dumps(plain(value))
            answer['verdict'] = 'ok'
        except SystemExit_ as error:
            code = error.code
            if code is not None and not isinstance_(code, int_):
                stderr.write(str_(code) + '\\n')
                code = 1
            if code or request.get('call') is not None:
                answer.update(verdict='runtime-error', detail='exit code ' + str_(code))
            else:
                answer['verdict'] = 'ok'
        except BaseException_ as error:
            answer.pop('value', None)
            answer.update(verdict=step, detail=first_line(error))
            if isinstance_(error, MemoryError_):
                answer['verdict'] = 'memory-limit'
            elif not isinstance_(error, KeyboardInterrupt_):
                try:
                    print_exception(type_(error), error, error.__traceback__, limit=-8, file=stderr)
                except BaseException_:
                    pass
        for stream in (stdout, stderr, sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException_:
                pass
        fd = os_open(request['answer'], WRITE)
        os_write(fd, dumps(answer).encode())
        os_close(fd)

    return run

def _sleep(seconds, /):
    """Does not wait: nothing outside changes meanwhile."""
    if not isinstance(seconds, (int, float)):
        raise TypeError("'" + type(seconds).__name__ + "' object cannot be interpreted as an integer")
    if seconds < 0:
        raise ValueError('sleep length must be non-negative')

_sleep.__name__ = _sleep.__qualname__ = 'sleep'
time.sleep = _sleep
_harness = types.ModuleType('_harness')
_harness.run = _make()
sys.modules['_harness'] = _harness
asyncio.events._event_loop_policy = _Policy()
# What the first traceback loads is loaded here.
for _source in ('Sure! Here it is', 'prnt(1)', 'import no_such_module', '[].no_such_name', '1/0', 'raise SystemExit'):
    try:
        exec(compile(_source, 'program.py', 'exec'), {})
    except BaseException as _error:
        traceback.print_exception(_error, file=io.StringIO())
sys.path[:] = [p for p in sys.path if not p.startswith('/home')] + ['/home/pyodide']
for _name in ('js', 'pyodide_js', 'pyodide', '_pyodide', '_pyodide_core', 'pyodide_core'):
    for _key in list(sys.modules):
        if _key == _name or _key.startswith(_name + '.'):
            del sys.modules[_key]
sys.meta_path[:] = [f for f in sys.meta_path if 'pyodide' not in type(f).__module__ and 'Jsf' not in type(f).__name__ and 'JsFinder' not in type(f).__name__]
`
