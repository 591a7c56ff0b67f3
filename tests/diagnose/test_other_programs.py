"""Texts of other programs' failures: a wrong answer is worse than none."""

from __future__ import annotations

import pytest

from mpslint.diagnose import Explained, diagnose, log_of_bytes

TEXTS = """\
npm ERR! code ERESOLVE could not resolve dependency: peer react@"^17" from react-scripts@4.0.3
error[E0382]: borrow of moved value: `buffer`
ld: symbol(s) not found for architecture arm64
clang: error: linker command failed with exit code 1 (use -v to see invocation)
fatal: not a git repository (or any of the parent directories): .git
error: failed to push some refs to 'origin'
docker: Error response from daemon: Conflict. The container name "/web" is already in use.
ERROR: Could not find a version that satisfies the requirement flask==9.9
ModuleNotFoundError: No module named 'pandas'
ImportError: cannot import name 'url_quote' from 'werkzeug.urls'
KeyError: 'labels_id'
ValueError: Input contains NaN, infinity or a value too large for dtype('float64').
ValueError: could not convert string to float: 'abc'
ValueError: Found array with 0 sample(s) (shape=(0, 4)) while a minimum of 1 is required.
TypeError: unsupported operand type(s) for +: 'int' and 'str'
IndexError: list index out of range
FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'
PermissionError: [Errno 13] Permission denied: '/var/log/app.log'
ConnectionResetError: [Errno 54] Connection reset by peer
requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='api.example.org', port=443): Read timed out.
OSError: [Errno 48] Address already in use
sqlite3.OperationalError: database is locked
psycopg2.OperationalError: could not connect to server: Connection refused
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte
RecursionError: maximum recursion depth exceeded while calling a Python object
MemoryError: Unable to allocate 29.8 GiB for an array with shape (4000, 1000000) and data type float64
java.lang.OutOfMemoryError: Java heap space
FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
panic: runtime error: index out of range [3] with length 3
thread 'main' panicked at 'called `Option::unwrap()` on a `None` value', src/main.rs:4:37
Undefined symbols for architecture arm64: "_OBJC_CLASS_$_MTLCompiler"
xcrun: error: invalid active developer path (/Library/Developer/CommandLineTools)
jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[]
tensorflow.python.framework.errors_impl.InvalidArgumentError: Incompatible shapes: [32,10] vs. [32,1]
RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x128 and 64x10)
RuntimeError: The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1
RuntimeError: Error(s) in loading state_dict for Net: Missing key(s) in state_dict: "fc.weight".
RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
AttributeError: module 'numpy' has no attribute 'float'
AttributeError: module 'torch.cuda' has no attribute 'no_such_name'
AttributeError: 'NoneType' object has no attribute 'shape'
huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error: Repository Not Found
""".splitlines()


@pytest.mark.parametrize("text", TEXTS)
def test_what_others_print_is_not_known(text: str) -> None:
    """Whether it stands alone or at the end of a traceback."""
    for log in (text, f'Traceback (most recent call last):\n  File "/home/me/train.py", line 3, in <module>\n    main()\n{text}'):
        assert diagnose(log_of_bytes(log.encode(), "log")).outcome is Explained.UNKNOWN
