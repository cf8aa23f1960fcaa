"""What functions and methods of Python and of libraries do: the tables, and how a name is found in
them.

One rule: a function is named by its place in a library ("os.remove"), a method by its name alone
where no other method has it ("to_csv"). What stands in no table is unknown, and that is said.
The file is long because it is data: a library more is a line more.
"""

from __future__ import annotations

import builtins
import re
import sys

Place = tuple[int, str]
"""Where an argument stands: its position, and its keyword."""


def words(text: str) -> frozenset[str]:
    """The words of a text: a table."""
    return frozenset(text.split())


def _places(text: str) -> dict[str, Place]:
    """Of "name:position:keyword …"."""
    parts = (each.split(":") for each in text.split())
    return {name: (int(index), keyword) for name, index, keyword in parts}


# Files --------------------------------------------------------------------------------------------

WRITE_METHODS = _places("""
to_csv:0:path_or_buf to_json:0:path_or_buf to_excel:0:excel_writer to_parquet:0:path
to_feather:0:path to_pickle:0:path to_hdf:0:path_or_buf to_stata:0:path to_html:0:buf to_latex:0:buf
to_markdown:0:buf to_string:0:buf to_xml:0:path_or_buffer to_orc:0:path to_netcdf:0:path
to_zarr:0:store to_file:0:filename to_sql:0:name tofile:0:fid savefig:0:fname save:0:fp
save_model:0:path save_weights:0:filepath save_pretrained:0:save_directory write_csv:0:file
write_parquet:0:file write_json:0:file write_ndjson:0:file write_excel:0:workbook write_ipc:0:file
sink_csv:0:path sink_parquet:0:path write_html:0:file write_image:0:file print_figure:0:filename
print_png:0:filename_or_obj print_pdf:0:filename_or_obj print_svg:0:filename
""")
_FILES = """
writes
numpy.save:0:file numpy.savez:0:file numpy.savez_compressed:0:file numpy.savetxt:0:fname
joblib.dump:1:filename torch.save:1:f shutil.copy:1:dst shutil.copy2:1:dst shutil.copyfile:1:dst
shutil.copytree:1:dst shutil.copymode:1:dst shutil.copystat:1:dst shutil.chown:0:path
shutil.make_archive:0:base_name shutil.unpack_archive:1:extract_dir os.mkdir:0:path
os.makedirs:0:name os.symlink:1:dst os.link:1:dst os.chmod:0:path os.lchmod:0:path os.chown:0:path
os.lchown:0:path os.utime:0:path os.truncate:0:path os.mkfifo:0:path os.mknod:0:path
os.setxattr:0:path os.removexattr:0:path urllib.request.urlretrieve:1:filename
pandas.ExcelWriter:0:path pandas.HDFStore:0:path shelve.open:0:filename
shelve.DbfilenameShelf:0:filename duckdb.connect:0:database matplotlib.pyplot.imsave:0:fname
matplotlib.image.imsave:0:fname matplotlib.backends.backend_pdf.PdfPages:0:filename
cv2.imwrite:0:filename cv2.VideoWriter:0:filename imageio.imwrite:0:uri imageio.imsave:0:uri
imageio.mimsave:0:uri imageio.get_writer:0:uri imageio.v3.imwrite:0:uri imageio.v2.imwrite:0:uri
soundfile.write:0:file scipy.io.savemat:0:file_name scipy.io.mmwrite:0:target
scipy.sparse.save_npz:0:file scipy.io.wavfile.write:0:filename logging.FileHandler:0:filename
logging.handlers.RotatingFileHandler:0:filename logging.handlers.WatchedFileHandler:0:filename
logging.handlers.TimedRotatingFileHandler:0:filename logging.basicConfig:99:filename
nbformat.write:1:fp skimage.io.imsave:0:fname py_compile.compile:0:file compileall.compile_dir:0:dir
compileall.compile_file:0:fullname torch.jit.save:1:f zipapp.create_archive:1:target
sklearn.datasets.dump_svmlight_file:2:f xml.etree.ElementTree.ElementTree().write:0:file_or_filename
trace.CoverageResults().write_results:0:coverdir cProfile.Profile().dump_stats:0:file
dbm.open:0:file dbm.dumb.open:0:file bokeh.plotting.output_file:0:filename
bokeh.io.output_file:0:filename
temporary
tempfile.TemporaryDirectory:99:- tempfile.TemporaryFile:99:- tempfile.mkdtemp:99:-
tempfile.mkstemp:99:- tempfile.NamedTemporaryFile:99:-
removes
os.remove:0:path os.unlink:0:path os.rmdir:0:path os.removedirs:0:name shutil.rmtree:0:path
send2trash.send2trash:0:paths
renames
os.rename:0:src os.renames:0:old os.replace:0:src shutil.move:0:src
opens
numpy.memmap:0:filename:2 numpy.lib.format.open_memmap:0:filename:1
open:0:file io.open:0:file codecs.open:0:file gzip.open:0:file gzip.GzipFile:0:file bz2.open:0:file
bz2.BZ2File:0:file lzma.open:0:file lzma.LZMAFile:0:file zipfile.ZipFile:0:file
zipfile.PyZipFile:0:file tarfile.open:0:file tarfile.TarFile:0:file tarfile.TarFile.open:0:file
h5py.File:0:file netCDF4.Dataset:0:file io.FileIO:0:file os.fdopen:0:file zarr.open:0:file
fsspec.open:0:file smart_open.open:0:file wave.open:0:file os.open:0:file
"""
FILES: dict[str, tuple[str, Place, Place]] = {}
"""Function -> what it does to the file that stands there, and where the mode stands."""
for _line in _FILES.split("\n"):
    if ":" not in _line:
        _kind = _line
    for _word in _line.split() if ":" in _line else ():
        _name, _index, _keyword, *_mode = _word.split(":")
        _at = (int(_mode[0]) if _mode else 1, "flags" if _name == "os.open" else "mode")
        FILES[_name] = (_kind, (int(_index), _keyword), _at)
WRITE_NAMES = re.compile(r"(?:save|write|export|sink|dump)(?:_|$)|im(?:save|write)$")
"""How the functions and methods of libraries of data are called that write a file."""
PATH_METHODS = words(
    "write_text write_bytes mkdir touch symlink_to hardlink_to link_to chmod lchmod unlink rmdir"
)
"""Methods of a path that write or delete it."""
IN_MEMORY = re.compile(r"(?:io\.|sys\.(?:__)?std)|.*(?:BytesIO|StringIO)\(|"
                       r".*(?:open|ExcelWriter|File|HDFStore|PdfPages|ZipFile)\(\)$")  # fmt: skip
"""Where a text goes to memory, or to a file that was named when it was opened."""

# Network, programs, names ------------------------------------------------------------------------

NETWORK = words("""
requests httpx aiohttp urllib.request urllib3 http.client http.server ftplib smtplib imaplib poplib
telnetlib nntplib paramiko boto3 botocore openai anthropic litellm websockets websocket yfinance
kaggle kagglehub gdown wget tweepy praw wikipedia gspread pymongo psycopg2 psycopg redis
huggingface_hub selenium feedparser pandas_datareader xmlrpc.client xmlrpc.server socket
socketserver ssl Bio.Entrez wbgapi googlesearch wsgiref multiprocessing.connection flask fastapi
uvicorn pycurl urllib.robotparser playwright scrapy cloudscraper googleapiclient google.cloud azure
vega_datasets contextily mysql pymysql elasticsearch
""")
NO_NETWORK = re.compile(r"Response$|xceptions|\.gethostname$|Timeout$|\.quote|Error$")
DOWNLOADS = re.compile(
    r"(?:datasets\.load_dataset|nltk\.download|seaborn\.load_dataset|transformers\.pipeline"
    r"|asyncio\.(?:open_\w+|start_\w*server|create_(?:unix_)?server)"
    r"|torch\.hub\.\w+|torchvision\.datasets\.\w+)$"
    r"|.*\.(?:from_pretrained|get_rdataset|push_to_hub|get_file|upload\w*|create_connection|download"
    r"|sock_connect)$"
    r"|sklearn\.datasets\.fetch_|(?:keras|tensorflow)\..*load_data$"
)
URL_NAMES = re.compile(r"(?i)url|https?\b|\buri|link\b")
URL = re.compile(r"(?:https?|ftps?|s3|gs|gcs|az|hf|wss?)://", re.IGNORECASE)
FETCHES = ("read", "load", "scan", "open", "url", "fetch", "download", "imread", "genfrom", "get")
PROGRAMS = re.compile(
    r"subprocess\.\w+$|os\.(?:system|popen|exec\w+|spawn\w+|posix_spawnp?|startfile|fork\w*)$"
    r"|asyncio\.create_subprocess_\w+$|pexpect\.(?:run|spawn)$|pty\.(?:spawn|fork)$|sh\.\w+$"
    r"|webbrowser\.\w+$|PIL.*\.show$|multiprocessing\.(?:Process|Pool|Manager)$|pip\.main$"
    r"|concurrent\.futures\.ProcessPoolExecutor$|ensurepip\.bootstrap$|venv\.(?:create|main)$"
)
CHANGE_FIRST = words("""
random.shuffle numpy.random.shuffle heapq.heappush heapq.heappop heapq.heapify heapq.heapreplace
heapq.heappushpop bisect.insort bisect.insort_left bisect.insort_right numpy.put numpy.place
numpy.copyto numpy.putmask numpy.fill_diagonal numpy.put_along_axis numpy.ndarray.sort setattr
delattr operator.setitem operator.delitem operator.iadd operator.iconcat operator.ior operator.iand
operator.isub operator.imul sklearn.utils.shuffle_in_place torch.nn.init
""")
"""Functions that change their first argument; a method that is called by its class does so too."""
CHANGING_DUNDERS = words("""
__setitem__ __delitem__ __setattr__ __delattr__ __iadd__ __isub__ __imul__ __itruediv__
__ifloordiv__ __ipow__ __imod__ __iand__ __ior__ __ixor__ __init__ __setstate__
""")
CHANGES_FIRST = re.compile(r"(?:numpy|random)\..*shuffle$|numpy\.\w+\.at$")
VIEWS = words("""
numpy.asarray numpy.frombuffer numpy.ravel numpy.reshape numpy.squeeze numpy.transpose numpy.nditer
numpy.atleast_1d numpy.atleast_2d numpy.swapaxes numpy.expand_dims numpy.broadcast_to numpy.diagonal
numpy.asanyarray numpy.ascontiguousarray numpy.array_split numpy.split memoryview torch.from_numpy
numpy.flip numpy.fliplr numpy.flipud numpy.rot90 numpy.moveaxis numpy.rollaxis numpy.real numpy.imag
numpy.lib.stride_tricks.as_strided numpy.lib.stride_tricks.sliding_window_view numpy.ndarray
""")
VIEW_METHODS = words("reshape ravel view squeeze transpose swapaxes diagonal cast getfield")
"""What gives another view of the same buffer."""
LOSING = words("pop popitem popleft remove discard clear drop __delitem__ drop_in_place truncate")
"""Methods that take something out of what they change."""
IN_PLACE = words("""
drop dropna fillna rename sort_values sort_index reset_index set_index replace drop_duplicates clip
query eval interpolate ffill bfill where mask rename_axis set_axis set_names
""")
"""Methods that have a parameter `inplace`."""
ENDS = words("exit quit os._exit os.abort")

# What is harmless ---------------------------------------------------------------------------------

_ERRORS = {
    name for name, each in vars(builtins).items()
    if isinstance(each, type) and issubclass(each, BaseException)
}  # fmt: skip
BUILTINS = _ERRORS | words("""
abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod compile complex dict
dir display divmod enumerate filter float format frozenset getattr get_ipython hasattr hash help hex
id input int isinstance issubclass iter len list map max memoryview min next object oct ord pow
print property range repr reversed round set slice sorted staticmethod str sum super tuple type vars
zip globals locals reveal_type
""")
LOOKS = words(
    "help print dir display repr str len hasattr getattr type isinstance id callable vars"
)
"""Functions that call nothing that they get, but for `repr`."""
PURE = words("""
math cmath statistics random re json string textwrap datetime calendar time collections itertools
functools operator copy decimal fractions numbers enum dataclasses typing typing_extensions abc
types heapq bisect array struct hashlib hmac base64 binascii secrets uuid html unicodedata difflib
pprint contextlib io csv ast inspect traceback warnings logging glob fnmatch stat os.path platform
locale getpass zlib gzip bz2 lzma zipfile tarfile colorsys zoneinfo queue sched threading asyncio
concurrent.futures tempfile urllib.parse urllib.error http http.cookies email xml configparser
tomllib argparse getopt optparse graphlib ipaddress keyword token tokenize symtable dis linecache
weakref contextvars filecmp mimetypes tracemalloc sysconfig codecs nbformat pstats
importlib.metadata importlib.resources encodings quopri netrc plistlib sre_compile dbm fsspec wave
reprlib timeit pathlib __future__
""")
"""Modules of Python whose functions and objects are harmless, but for those named above."""
LOUD = re.compile(
    r"types\.(?:FunctionType|CodeType|LambdaType)|io\.open_code|logging\.(?:config|handlers)\."
    r"|operator\.methodcaller|inspect\.(?:currentframe|stack|getmembers_static)|contextlib\.chdir"
    r"|timeit\.(?:timeit|repeat|main|Timer)|tarfile\..*\.add$|xml\.sax"
    r"|argparse\.FileType"
    r"|threading\.(?:settrace|setprofile|excepthook)|asyncio\.(?:.*subprocess|.*connect)"
)
"""…and these: they call what they were not given, or more."""
HONEST = words("""
numpy pandas matplotlib mpl_toolkits seaborn sklearn scipy statsmodels polars plotly sympy networkx
xarray PIL skimage torch torchvision torchaudio tensorflow keras jax flax optax xgboost lightgbm
catboost altair bokeh tqdm rich tabulate bs4 yaml dateutil pytz pydantic attr attrs prettytable
wordcloud nltk spacy gensim transformers datasets tokenizers sentence_transformers accelerate cv2
imageio shapely geopandas folium pyarrow duckdb dask numba joblib IPython.display ipywidgets patsy
pingouin arch pymc arviz emcee lifelines umap hdbscan shap imblearn mlxtend yellowbrick missingno
squarify Bio astropy uncertainties pint openpyxl xlrd h5py netCDF4 zarr tables numexpr bottleneck
cycler plotnine pycountry unidecode emoji regex chardet cachetools more_itertools toolz
sortedcontainers colorama lxml html5lib soundfile librosa pyproj rasterio fiona cartopy textblob
langdetect optuna hyperopt simpy pulp cvxpy ortools prophet pmdarima tsfresh fuzzywuzzy rapidfuzz
Levenshtein holoviews hvplot sqlglot humanize tiktoken einops category_encoders great_tables itables
matplotlib_inline kiwisolver contourpy threadpoolctl narwhals six packaging wrapt charset_normalizer
""")
"""Libraries of data: their functions and objects are harmless, but for those named above, for
names of `WRITE_NAMES`, and…"""
DISHONEST = re.compile(
    r"(?:.*\.)?(?:exec\w*|system|popen|spawn\w*|f2py|distutils|clipboard\w*|get_handle|cpp_extension"
    r"|load_inline|load_library|load_model|unsafe_load\w*|full_load\w*|read_pickle|to_clipboard"
    r"|to_gbq|DataSource|run_\w+|unlink|rmtree|makedirs|mkdir|import_module|compile_\w+|testing"
    r"|_?private)(?:$|\.)"
    r"|(?:torch|keras|joblib|spacy|gensim|yaml|dill)\b.*\.(?:load|load_all)$|IPython\.(?!display)"
    r"|pandas.*\.(?:eval|query)$|numpy\.load$"
)
"""…these; the last three are judged by their arguments."""
MIXED: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        words(
            "builtins subprocess ctypes socket code runpy pdb pty shelve mmap importlib.machinery"
        ),
        frozenset(),
    ),
    **{
        name: words(text)
        for name, text in re.findall(
            r"^([\w.]+): ((?:.|\n )+)",
            """
os: DirEntry PathLike access close cpu_count environ fsdecode fsencode fspath fstat fwalk
  get_exec_path get_terminal_size getcwd getcwdb getenv geteuid getgid getloadavg getlogin getpid
  getppid getuid isatty listdir lstat process_cpu_count readlink scandir sched_getaffinity stat
  stat_result strerror times uname urandom waitpid walk
sys: argv exc_info executable exit flags float_info getallocatedblocks getdefaultencoding
  getfilesystemencoding getrecursionlimit getrefcount getsizeof implementation intern maxsize path
  platform setrecursionlimit stderr stdin stdout version version_info
shutil: copyfileobj disk_usage get_archive_formats get_terminal_size ignore_patterns which
sqlite3: Connection Row connect complete_statement register_adapter register_converter
pickle: PickleBuffer Pickler dump dumps
marshal: dump dumps
gc: collect disable enable freeze get_count get_stats get_threshold isenabled
importlib: invalidate_caches
importlib.util: find_spec
pkgutil: iter_modules
atexit: register unregister
cProfile: Profile
signal: Signals getsignal signal
multiprocessing: Array Lock Manager Queue Value cpu_count current_process freeze_support
resource: getpagesize getrusage
psutil: boot_time cpu_count cpu_percent disk_usage net_io_counters sensors_battery swap_memory
  virtual_memory
IPython: get_ipython version_info
IPython.core.display: HTML Image Markdown display
site: getsitepackages getusersitepackages
matplotlib_inline: backend_inline
unittest: TestCase
lmc_jupyter: Chunk Message current_session delimit share
""",
            re.MULTILINE,
        )
    },
}
"""Module -> those of its members that are harmless."""

FILE_WRITES = words("write writelines writestr truncate add addfile")
"""Methods of an open file that change it."""
DECORATORS = words("""
staticmethod classmethod property setter getter deleter lru_cache cache cached_property wraps
dataclass contextmanager asynccontextmanager njit jit vectorize abstractmethod overload
total_ordering singledispatch guvectorize override final runtime_checkable
""")
"""Decorators that do not call the function."""
BACK_DOORS = words("""
f_globals f_locals f_back f_builtins __globals__ __builtins__ __subclasses__ __base__ __bases__
__mro__ mro __code__ __closure__ __getattribute__ __getattr__ __reduce__ __reduce_ex__ __loader__
__spec__ gi_frame cr_frame tb_frame ag_frame __self__ __wrapped__ __func__ __import__
__init_subclass__
""")
"""Attributes by which code reaches what it does not name."""

_ALIASES = {
    "posix": "os", "nt": "os", "posixpath": "os.path", "ntpath": "os.path", "_io": "io",
    "_pickle": "pickle", "_thread": "threading", "_operator": "operator", "_random": "random",
    "_sqlite3": "sqlite3", "_socket": "socket", "_ctypes": "ctypes", "_bisect": "bisect",
    "_heapq": "heapq", "_json": "json", "_struct": "struct", "_csv": "csv", "_datetime": "datetime",
    "_collections": "collections", "_functools": "functools", "builtins": "", "_posixsubprocess":
    "subprocess", "os.posix": "os", "pathlib._local": "pathlib", "cloudpickle": "pickle",
    "dill": "pickle", "_pydatetime": "datetime", "_asyncio": "asyncio", "_decimal": "decimal",
    "pylab": "matplotlib.pyplot", "torch._C": "torch",
}  # fmt: skip
_LEAKS = words("os sys subprocess shutil builtins importlib socket ctypes pickle posix io urllib")
"""Modules that others have as members: `shutil.os.system`."""


def place_of(path: str) -> str:
    """A function by the one name that the tables have: "posix.system" is "os.system"."""
    head, _, rest = path.partition(".")
    if (
        rest
        and (middle := rest.partition(".")[0]) in _LEAKS
        and (
            head not in NETWORK
            and f"{head}.{middle}" not in PURE
            and (head, middle) not in _OWN_PARTS
        )
    ):
        return place_of(rest)
    for module in (path, path.rpartition(".")[0], head):
        if module in _ALIASES and (rest or _ALIASES[module]):
            return f"{_ALIASES[module]}{path[len(module) :]}".removeprefix(".")
    return path


_OWN_PARTS = {(library, "io") for library in words("scipy skimage pandas plotly bokeh imageio")}


def module_in(path: str, modules: frozenset[str] | dict[str, frozenset[str]]) -> str:
    """The longest module of these that a path begins with; "" for none."""
    name = path.replace("()", "")
    while name:
        if name in modules:
            return name
        name = name.rpartition(".")[0]
    return ""


def is_harmless(path: str) -> bool:
    """Whether calling this does nothing that a person would want to know."""
    if "." not in path:
        return path.removesuffix("()") in BUILTINS or path.removesuffix("()") in PURE | HONEST
    mixed, pure = module_in(path, MIXED), module_in(path, PURE)
    if len(pure) > len(mixed):
        return LOUD.match(path) is None
    if mixed and not (honest := module_in(path, HONEST)) > mixed:
        member = path[len(mixed) + 1 :].partition(".")[0].removesuffix("()")
        return not member or member in MIXED[mixed]
    honest = module_in(path, HONEST)
    if not honest:
        top = path.partition(".")[0].removesuffix("()")
        return top in BUILTINS
    return DISHONEST.match(path) is None


def is_known_module(name: str) -> bool:
    """Whether importing it runs code of Python's or of a library that is known here."""
    return (
        name.partition(".")[0] in sys.stdlib_module_names
        or bool(module_in(name, HONEST) or module_in(name, NETWORK) or module_in(name, MIXED))
        or name.partition(".")[0] in _TOPS
    )


_TOPS = frozenset(each.partition(".")[0] for each in HONEST | NETWORK) | words(
    "IPython lmc_jupyter pip setuptools ipykernel pytest sqlalchemy"
)
