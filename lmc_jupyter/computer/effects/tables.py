"""What functions and methods of Python and of libraries do: the tables, and how a name is found in
them.

One rule: a function is named by its place in a library ("os.remove"), a method by its name alone
where no other method has it ("to_csv"). What stands in no table is unknown, and that is said.
The file is long because it is data: a library more is a line more.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import io
import pathlib
import re
import sys

Place = tuple[int, str]
"""Where an argument stands: its position, and its keyword."""


def _words(text: str) -> frozenset[str]:
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
WRITE_FUNCTIONS = _places("""
numpy.save:0:file numpy.savez:0:file numpy.savez_compressed:0:file numpy.savetxt:0:fname
joblib.dump:1:filename torch.save:1:f shutil.copy:1:dst shutil.copy2:1:dst shutil.copyfile:1:dst
shutil.copytree:1:dst shutil.copymode:1:dst shutil.copystat:1:dst shutil.chown:0:path
shutil.make_archive:0:base_name shutil.unpack_archive:1:extract_dir os.mkdir:0:path
os.makedirs:0:name os.symlink:1:dst os.link:1:dst os.chmod:0:path os.lchmod:0:path os.chown:0:path
os.lchown:0:path os.utime:0:path os.truncate:0:path os.mkfifo:0:path os.mknod:0:path
os.setxattr:0:path os.removexattr:0:path urllib.request.urlretrieve:1:filename
pandas.ExcelWriter:0:path pandas.HDFStore:0:path shelve.open:0:filename
shelve.DbfilenameShelf:0:filename sqlite3.connect:0:database sqlite3.Connection:0:database
duckdb.connect:0:database matplotlib.pyplot.imsave:0:fname matplotlib.image.imsave:0:fname
matplotlib.backends.backend_pdf.PdfPages:0:filename cv2.imwrite:0:filename
cv2.VideoWriter:0:filename imageio.imwrite:0:uri imageio.imsave:0:uri imageio.mimsave:0:uri
imageio.get_writer:0:uri imageio.v3.imwrite:0:uri imageio.v2.imwrite:0:uri soundfile.write:0:file
scipy.io.savemat:0:file_name scipy.io.mmwrite:0:target scipy.sparse.save_npz:0:file
scipy.io.wavfile.write:0:filename logging.FileHandler:0:filename
logging.handlers.RotatingFileHandler:0:filename logging.handlers.WatchedFileHandler:0:filename
logging.handlers.TimedRotatingFileHandler:0:filename logging.basicConfig:99:filename
nbformat.write:1:fp skimage.io.imsave:0:fname py_compile.compile:0:file compileall.compile_dir:0:dir
compileall.compile_file:0:fullname torch.jit.save:1:f zipapp.create_archive:1:target
sklearn.datasets.dump_svmlight_file:2:f xml.etree.ElementTree.ElementTree().write:0:file_or_filename
trace.CoverageResults().write_results:0:coverdir cProfile.Profile().dump_stats:0:file
tempfile.TemporaryDirectory:99:- tempfile.TemporaryFile:99:- dbm.open:0:file dbm.dumb.open:0:file
tempfile.mkdtemp:99:- tempfile.mkstemp:99:- tempfile.NamedTemporaryFile:99:-
bokeh.plotting.output_file:0:filename bokeh.io.output_file:0:filename
""")
WRITE_NAMES = re.compile(r"(?:save|write|export|sink|dump)(?:_|$)|im(?:save|write)$")
"""How the functions and methods of libraries of data are called that write a file."""
REMOVE_FUNCTIONS = _places("""
os.remove:0:path os.unlink:0:path os.rmdir:0:path os.removedirs:0:name shutil.rmtree:0:path
send2trash.send2trash:0:paths
""")
MOVE_FUNCTIONS = _places("os.rename:0:src os.renames:0:old os.replace:0:src shutil.move:0:src")
"""Functions that move their first argument to the second."""
OPENERS: dict[str, tuple[Place, str]] = {
    "numpy.memmap": ((2, "mode"), "r+"),
    "numpy.lib.format.open_memmap": ((1, "mode"), "r+"),
    **dict.fromkeys(
        _words("open io.open codecs.open gzip.open gzip.GzipFile bz2.open bz2.BZ2File lzma.open"
        " lzma.LZMAFile zipfile.ZipFile zipfile.PyZipFile tarfile.open tarfile.TarFile"
        " tarfile.TarFile.open h5py.File netCDF4.Dataset io.FileIO os.fdopen "
        " pathlib.Path.open zarr.open fsspec.open smart_open.open wave.open"),
        ((1, "mode"), "r"),
    ),
}  # fmt: skip
"""Function -> where its mode stands, and the mode without it."""
PATH_METHODS: dict[str, str] = {
    **dict.fromkeys(_words("write_text write_bytes mkdir touch symlink_to hardlink_to link_to chmod"
                           " lchmod"), "writes"),
    "unlink": "removes", "rmdir": "removes",
}  # fmt: skip
"""Methods of a path -> what they do to it."""
IN_MEMORY = re.compile(r"(?:io\.|sys\.(?:__)?std)|.*(?:BytesIO|StringIO)\(|"
                       r".*(?:open|ExcelWriter|File|HDFStore|PdfPages|ZipFile)\(\)$")  # fmt: skip
"""Where a text goes to memory, or to a file that was named when it was opened."""

# Network, programs, names ------------------------------------------------------------------------

NETWORK = _words("""
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
URL = re.compile(r"(?:https?|ftps?|s3|gs|gcs|az|hf|wss?)://", re.IGNORECASE)
FETCHES = ("read", "load", "scan", "open", "url", "fetch", "download", "imread", "genfrom", "get")
PROGRAMS = re.compile(
    r"subprocess\.\w+$|os\.(?:system|popen|exec\w+|spawn\w+|posix_spawnp?|startfile|fork\w*)$"
    r"|asyncio\.create_subprocess_\w+$|pexpect\.(?:run|spawn)$|pty\.(?:spawn|fork)$|sh\.\w+$"
    r"|webbrowser\.\w+$|PIL.*\.show$|multiprocessing\.(?:Process|Pool|Manager)$|pip\.main$"
    r"|concurrent\.futures\.ProcessPoolExecutor$|ensurepip\.bootstrap$|venv\.(?:create|main)$"
)
MAY_CHANGE_FIRST = _words("""
random.shuffle numpy.random.shuffle heapq.heappush heapq.heappop heapq.heapify heapq.heapreplace
heapq.heappushpop bisect.insort bisect.insort_left bisect.insort_right numpy.put numpy.place
numpy.copyto numpy.putmask numpy.fill_diagonal numpy.put_along_axis numpy.ndarray.sort setattr
delattr operator.setitem operator.delitem operator.iadd operator.iconcat operator.ior operator.iand
operator.isub operator.imul sklearn.utils.shuffle_in_place torch.nn.init
""")
"""Functions that change their first argument; a method that is called by its class does so too."""
CHANGING_DUNDERS = _words("""
__setitem__ __delitem__ __setattr__ __delattr__ __iadd__ __isub__ __imul__ __itruediv__
__ifloordiv__ __ipow__ __imod__ __iand__ __ior__ __ixor__ __init__ __setstate__
""")
CHANGES_FIRST = re.compile(r"(?:numpy|random)\..*shuffle$|numpy\.\w+\.at$")
VIEWS = _words("""
numpy.asarray numpy.frombuffer numpy.ravel numpy.reshape numpy.squeeze numpy.transpose numpy.nditer
numpy.atleast_1d numpy.atleast_2d numpy.swapaxes numpy.expand_dims numpy.broadcast_to numpy.diagonal
numpy.asanyarray numpy.ascontiguousarray numpy.array_split numpy.split memoryview torch.from_numpy
numpy.flip numpy.fliplr numpy.flipud numpy.rot90 numpy.moveaxis numpy.rollaxis numpy.real numpy.imag
numpy.lib.stride_tricks.as_strided numpy.lib.stride_tricks.sliding_window_view numpy.ndarray
""")
VIEW_METHODS = _words("reshape ravel view squeeze transpose swapaxes diagonal cast getfield")
"""What gives another view of the same buffer."""
LOSING = _words("pop popitem popleft remove discard clear drop __delitem__ drop_in_place truncate")
"""Methods that take something out of what they change."""
IN_PLACE = _words("""
drop dropna fillna rename sort_values sort_index reset_index set_index replace drop_duplicates clip
query eval interpolate ffill bfill where mask rename_axis set_axis set_names
""")
"""Methods that have a parameter `inplace`."""
ENDS = _words("exit quit os._exit os.abort")

# What is harmless ---------------------------------------------------------------------------------

_ERRORS = {
    name for name, each in vars(builtins).items()
    if isinstance(each, type) and issubclass(each, BaseException)
}  # fmt: skip
BUILTINS = _ERRORS | _words("""
abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod compile complex dict
dir display divmod enumerate filter float format frozenset getattr get_ipython hasattr hash help hex
id input int isinstance issubclass iter len list map max memoryview min next object oct ord pow
print property range repr reversed round set slice sorted staticmethod str sum super tuple type vars
zip globals locals reveal_type
""")
LOOKS = _words(
    "help print dir display repr str len hasattr getattr type isinstance id callable vars"
)
"""Functions that call nothing that they get, but for `repr`."""
PURE = _words("""
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
HONEST = _words("""
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
        _words(
            "builtins subprocess ctypes socket code runpy pdb pty shelve mmap importlib.machinery"
        ),
        frozenset(),
    ),
    **{
        name: _words(text)
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
sqlite3: Row complete_statement register_adapter register_converter
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

_KNOWN_TYPES: tuple[type, ...] = (
    str, bytes, list, dict, set, tuple, int, float, complex, collections.deque, collections.Counter,
    collections.OrderedDict, datetime.datetime, datetime.timedelta, re.Pattern, re.Match,
    pathlib.PurePath, io.StringIO,
)  # fmt: skip
METHODS = frozenset(
    name for kind in _KNOWN_TYPES for name in dir(kind) if not name.startswith("_")
) - _words("write writelines truncate detach") | _words("""
T abs absolute acquire addFilter addHandler add_argument add_collection add_done_callback add_edge
add_edges_from add_gridspec add_hline add_node add_nodes_from add_patch add_subplot add_trace
add_vline agg aggregate alias align all alpha angle annotate any apply apply_along_axis applymap
arange argmax argmin argpartition argsort around array asfreq assign astype at at_time autofmt_xdate
autoscale ax axes axhline axhspan axis axline axvline axvspan backward bar bar_label barh between
bfill bind_param bins bool box boxplot broadcast buffers cancel cancelled cast categories ceil
children choice choices clabel clip coef collect colorbar columns commit communicate compare
compress compute conj contains contiguous contour contourf corr corrwith cos cov cpu critical cross
crosstab cuda cummax cummin cumprod cumsum cursor cut debug decision_function degree describe
despine diag diagonal diff dim done dot double drop drop_duplicates dropna dtype dtypes duplicated
ecdf edges element_size eq equals error errorbar eval evaluate event ewm exception exists expanding
explode extract factorize fetchall fetchmany fetchone ffill fig figure fill fill_between fill_null
fillna filter find_all find_next find_next_sibling find_parent first fit fit_predict fit_transform
flat flatten floor floordiv forward from_dict from_records future gca gcf ge get_children
get_dummies get_feature_names_out get_figure get_group get_legend get_legend_handles_labels
get_nowait get_params get_support get_text get_title get_xlabel get_xlim get_xticklabels get_xticks
get_ylabel get_ylim get_yticklabels get_yticks getbuffer glob grad grid groupby gt half head height
hexbin hist hist2d hlines idxmax idxmin iloc imshow infer_objects info interpolate inverse_transform
invert is_alive is_dir is_file is_in is_not_null is_null is_set isin isna isnull item iter_content
iterdir iterrows itertuples job json kind kneighbors kurt kurtosis last lazy le legend len lexists
lines load_state_dict locator_params log log_prob logical long lt mad map map_dataframe map_diag
map_lower map_upper margins mask matmul mean median melt memory_usage merge minorticks_on mod mode
modules mul n_unique named_parameters ne neighbors nlargest nodes nonzero norm notna notnull
nsmallest numel numpy nunique open_ otherwise over pad parameters params parse_args partial_fit
pcolormesh pct_change percentile pie pipe pivot pivot_table plot poll posterior pow predict
predict_log_proba predict_proba prettify prod product ptp put put_nowait qcut quantile quiver
raise_for_status random_state rank ravel read_bytes read_text refline reindex release relim rename
reorder_levels repeat requires_grad requires_grad_ resample reset_index reshape resolve result rfft
rglob rint rollback rolling round row rows rsub rtruediv sample samples scatter scatter3D score
score_samples select select_dtypes select_one sem semilogx semilogy set setLevel set_alpha
set_aspect set_axis set_axis_labels set_axis_off set_axisbelow set_box_aspect set_color
set_description set_edgecolor set_facecolor set_fontsize set_frame_on set_ha set_index set_label
set_linewidth set_major_formatter set_major_locator set_minor_locator set_params set_position
set_postfix set_rlabel_position set_rotation set_size_inches set_style set_text set_theta_offset
set_theta_zero_location set_ticklabels set_ticks set_tight_layout set_title set_titles set_visible
set_xlabel set_xlim set_xscale set_xticklabels set_xticks set_ylabel set_ylim set_yscale
set_yticklabels set_yticks set_zlabel shape shift show sigmoid sin size skew softmax sort_index
sort_values specgram sqrt square squeeze stack stackplot stat state_dict std step stop str style
subgraph submit subplots subplots_adjust subset sum summary suptitle supxlabel supylabel swapaxes
swaplevel t table tail take task task_done text then tick_params tight_layout to to_array
to_datetime to_dense to_dict to_frame to_list to_numpy to_pandas to_period to_records to_series
to_timedelta to_timestamp tolist train transform transpose triangular tricontourf truediv truncate_
tune twinx twiny type_as tz_convert tz_localize unique unsqueeze unstack update_layout update_traces
update_xaxes update_yaxes value_counts var view violinplot vlines wait warning when where width
with_columns with_row_index writeheader writerow writerows xcorr xs zero_grad
""")
"""Methods that are harmless on whatever has them: on a value of which nothing else is known."""
FILE_WRITES = _words("write writelines writestr truncate add addfile")
"""Methods of an open file that change it."""
DECORATORS = _words("""
staticmethod classmethod property setter getter deleter lru_cache cache cached_property wraps
dataclass contextmanager asynccontextmanager njit jit vectorize abstractmethod overload
total_ordering singledispatch guvectorize override final runtime_checkable
""")
"""Decorators that do not call the function."""
BACK_DOORS = _words("""
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
_LEAKS = _words("os sys subprocess shutil builtins importlib socket ctypes pickle posix io urllib")
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


_OWN_PARTS = {(library, "io") for library in _words("scipy skimage pandas plotly bokeh imageio")}


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


_TOPS = frozenset(each.partition(".")[0] for each in HONEST | NETWORK) | _words(
    "IPython lmc_jupyter pip setuptools ipykernel pytest sqlalchemy"
)
