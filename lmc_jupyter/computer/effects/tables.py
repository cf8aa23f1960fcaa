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


def words(text: str) -> frozenset[str]:
    """The words of a text: a table."""
    return frozenset(text.split())


def _table(text: str) -> dict[str, frozenset[str]]:
    """Of lines "name: words", which may go on below."""
    return {name: words(row) for name, row in re.findall(r"^(.+?): ((?:.|\n )+)", text, re.M)}


# Files --------------------------------------------------------------------------------------------

WRITE_METHODS = re.compile(
    r"(?:to_(?:csv|json|excel|parquet|feather|pickle|hdf|stata|html|latex|markdown|string|xml|orc"
    r"|netcdf|zarr|file|sql)|tofile|save|savefig|write_(?:csv|parquet|excel|html|image)"
    r"|print_(?:figure|png|pdf|svg))$"
)
"""Methods that write the file which is their first argument; without one they give a text."""
FILES = {
    name: (row.partition(" ")[0], int(row.partition(" ")[2]))
    for row, names in _table("""
writes 0: numpy.save numpy.savez numpy.savez_compressed numpy.savetxt shutil.make_archive os.mkdir
  os.makedirs os.chmod os.utime os.truncate pandas.ExcelWriter duckdb.connect
  matplotlib.pyplot.imsave matplotlib.backends.backend_pdf.PdfPages logging.FileHandler
  xml.etree.ElementTree.ElementTree().write
writes 1: joblib.dump torch.save shutil.copy shutil.copy2 shutil.copyfile shutil.copytree
  shutil.unpack_archive os.symlink os.link urllib.request.urlretrieve
writes 99: logging.basicConfig
removes 0: os.remove os.unlink os.rmdir os.removedirs shutil.rmtree
renames 0: os.rename os.renames os.replace shutil.move
opens 0: open io.open codecs.open gzip.open gzip.GzipFile bz2.open bz2.BZ2File lzma.open
  lzma.LZMAFile zipfile.ZipFile tarfile.open h5py.File io.FileIO os.fdopen wave.open os.open
""").items()
    for name in names
}
"""Function -> what it does to a file, and at which position the file stands."""
FILE_KEYWORDS = (
    r"\w*(?:file|path|dir|buf)\w*|f|fid|fname|(?:base_)?name|src|dst|old|store|target|uri|database"
    "|excel_writer|workbook"
)
"""…and by which keyword."""
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
paramiko boto3 botocore openai anthropic litellm websockets websocket yfinance kaggle kagglehub
gdown wget pymongo psycopg2 psycopg redis huggingface_hub selenium feedparser pandas_datareader
xmlrpc.client xmlrpc.server socket socketserver ssl wsgiref multiprocessing.connection flask fastapi
uvicorn urllib.robotparser playwright google.cloud azure
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
CHANGES_FIRST = re.compile(
    r"heapq\.heap\w+|bisect\.insort|(?:set|del)attr$|(?:numpy|random)\..*shuffle$|numpy\.\w+\.at$"
    r"|numpy\.(?:put\w*|place|copyto|fill_diagonal|ndarray\.sort)$|sklearn\.utils\.shuffle_in_place"
    r"|operator\.(?:setitem|delitem|i(?:add|concat|or|and|sub|mul))$|torch\.nn\.init\."
)
"""Functions that change their first argument; a method that is called by its class does so too."""
CHANGING_DUNDERS = re.compile(r"__(?:set|del|init__|i(?:add|sub|mul|and|or)__)")
VIEWS = words("""
asarray asanyarray ascontiguousarray frombuffer ravel reshape squeeze transpose nditer atleast_1d
atleast_2d swapaxes expand_dims broadcast_to diagonal array_split split memoryview from_numpy flip
fliplr flipud rot90 moveaxis rollaxis real imag as_strided sliding_window_view ndarray view cast
""")
"""Functions and methods that give another view of the same buffer."""
LOSING = words("pop popitem popleft remove discard clear drop __delitem__ drop_in_place truncate")
"""Methods that take something out of what they change."""
IN_PLACE = words("""
drop dropna fillna rename sort_values sort_index reset_index set_index replace drop_duplicates clip
query eval interpolate ffill bfill where mask rename_axis set_axis set_names
""")
"""Methods that have a parameter `inplace`."""
ENDS = words("exit quit os._exit os.abort")

# What is harmless ---------------------------------------------------------------------------------

BUILTINS = words("""
abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod compile complex dict
dir display divmod enumerate filter float format frozenset getattr get_ipython hasattr hash help hex
id input int isinstance issubclass iter len list map max memoryview min next object oct ord pow
print property range repr reversed round set slice sorted staticmethod str sum super tuple type vars
zip globals locals reveal_type
""") | {name for name in dir(builtins) if name[0].isupper()}
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
concurrent.futures urllib.parse urllib.error http http.cookies email xml configparser
tomllib argparse getopt optparse graphlib ipaddress keyword token tokenize symtable dis linecache
weakref contextvars filecmp mimetypes tracemalloc sysconfig codecs pstats importlib.metadata
importlib.resources encodings plistlib wave reprlib timeit pathlib __future__
""")
"""Modules of Python whose functions and objects are harmless, but for those named above."""
LOUD = re.compile(
    r"types\.(?:FunctionType|CodeType|LambdaType)|io\.open_code|logging\.(?:config|handlers)\."
    r"|operator\.methodcaller|inspect\.(?:currentframe|stack|getmembers_static)|contextlib\.chdir"
    r"|timeit\.(?:timeit|repeat|main|Timer)|tarfile\..*\.add$|xml\.sax"
    r"|argparse\.FileType|tracemalloc\..*\.dump$|(?:zipfile|tarfile)\..*\.extract"
    r"|threading\.(?:settrace|setprofile|excepthook)|asyncio\.(?:.*subprocess|.*connect)"
)
"""…and these: they call what they were not given, or more."""
HONEST = words("""
numpy pandas matplotlib mpl_toolkits seaborn sklearn scipy statsmodels polars plotly sympy networkx
xarray PIL skimage torch torchvision torchaudio tensorflow keras jax xgboost lightgbm altair bokeh
tqdm rich tabulate bs4 yaml dateutil pytz pydantic attr attrs nltk spacy transformers datasets
sentence_transformers cv2 imageio shapely geopandas folium pyarrow duckdb dask numba joblib
IPython.display ipywidgets patsy pymc arviz shap astropy openpyxl xlrd h5py netCDF4 numexpr cycler
regex chardet more_itertools lxml optuna einops matplotlib_inline narwhals six
""")
"""Libraries of data: their functions and objects are harmless, but for those named above, and…"""
DISHONEST = re.compile(
    r"(?:.*\.)?(?:exec\w*|system|popen|spawn\w*|f2py|distutils|clipboard\w*|get_handle|cpp_extension"
    r"|load_inline|load_library|load_model|unsafe_load\w*|full_load\w*|read_pickle|to_clipboard"
    r"|to_gbq|HDFStore|memmap|open_memmap|output_file|DataSource|run_\w+|unlink|rmtree|makedirs|mkdir"
    r"|import_module|compile_\w+|testing|_?private)(?:$|\.)"
    r"|(?:torch|keras|joblib|spacy|gensim|yaml|dill)\b.*\.(?:load|load_all)$|IPython\.(?!display)"
    r"|(?!yaml).*\.(?:(?:save|write|export|sink|dump)(?:_\w*|mat)?|imsave|imwrite)$"
    r"|pandas.*\.(?:eval|query)$|numpy\.load$|pyarrow\.fs(?:$|\.)"
)
"""…these, and what is called as if it wrote a file."""
MIXED = _table("""
os: PathLike access close cpu_count environ fspath get_terminal_size getcwd getenv getpid listdir
  lstat scandir stat stat_result times uname urandom walk
sys: argv exc_info executable exit flags float_info getrefcount getsizeof maxsize path platform
  stderr stdin stdout version version_info
shutil: copyfileobj disk_usage get_terminal_size which
sqlite3: Connection Row connect
pickle: dump dumps
gc: collect get_count get_stats
importlib.util: find_spec
atexit: register
multiprocessing: Queue cpu_count
IPython: version_info
IPython.core.display: HTML Image Markdown display
lmc_jupyter: Chunk Message delimit share
""") | dict.fromkeys(words("socket pty subprocess ctypes mmap builtins code"), words(""))
"""Module -> those of its members that are harmless."""

PAGES = words("""
HTML Javascript IFrame SVG display_html display_javascript display_svg publish_display_data
""")
"""Functions of IPython.display whose text Jupyter shows as a part of its own page."""

FILE_WRITES = words("write writelines writestr truncate add addfile")
"""Methods of an open file that change it."""
DECORATORS = words("""
staticmethod classmethod property setter getter deleter lru_cache cache cached_property wraps
dataclass contextmanager asynccontextmanager njit jit vectorize abstractmethod overload
total_ordering singledispatch override
""")
"""Decorators that do not call the function."""
BACK_DOORS = re.compile(
    r"(?:f_|gi_|cr_|tb_|ag_)\w+$|mro$"
    r"|__(?!(?:name|doc|class|module|version|file|len|init|str|repr|eq|iter|next|call|dict|annotations"
    r"|(?:get|set|del)item|(?:set|del)attr|iadd|isub|imul|contains)__)"
)
"""Attributes by which code reaches what it does not name."""

_ALIASES = dict(
    each.split("=")
    for each in words("""
posix=os nt=os os.posix=os posixpath=os.path ntpath=os.path thread=threading pydatetime=datetime
posixsubprocess=subprocess pathlib._local=pathlib pylab=matplotlib.pyplot torch._C=torch builtins=
""")
)
"""Another name of a module -> the one that the tables have."""
_LEAKS = words("os sys subprocess shutil builtins importlib socket ctypes pickle posix io urllib")
"""Modules that others have as members: `shutil.os.system`."""


def place_of(path: str) -> str:
    """A function by the one name that the tables have: "posix.system" is "os.system"."""
    path = path if path.startswith("__") else path.removeprefix("_")
    head, _, rest = path.partition(".")
    middle = rest.partition(".")[0]
    is_part = head in NETWORK or f"{head}.{middle}" in PURE or (middle == "io" and head in HONEST)
    if middle in _LEAKS and not is_part:
        return place_of(rest)
    for module in (path, path.rpartition(".")[0], head):
        if module in _ALIASES and (rest or _ALIASES[module]):
            return f"{_ALIASES[module]}{path[len(module) :]}".removeprefix(".")
    return path


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
    mixed, pure, honest = (module_in(path, each) for each in (MIXED, PURE, HONEST))
    best = max(mixed, pure, honest, key=len)
    if not best:
        return path.partition(".")[0].removesuffix("()") in BUILTINS
    member = path[len(best) + 1 :].partition(".")[0].removesuffix("()")
    if best == mixed:
        return not member or member in MIXED[mixed]
    return (LOUD if best == pure else DISHONEST).match(path) is None


TOPS = (
    sys.stdlib_module_names
    | {each.partition(".")[0] for each in HONEST | NETWORK}
    | words("IPython lmc_jupyter pip setuptools ipykernel pytest sqlalchemy")
) - {"antigravity"}
"""Modules of Python, and libraries that are known here: importing them is harmless."""
