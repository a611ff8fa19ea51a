//! The one error a client can see: a [`Code`] with its MySQL errno and SQLSTATE, and a text.
//!
//! Errno and SQLSTATE are written down here and nowhere else. Other rooms have error types of
//! their own where somebody else must act on them (the storage engine's, the decoder's) and turn
//! them into [`Error`] at their door. Sources: MySQL 8.0 Error Message Reference, chapter "Server
//! Error Message Reference".

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// What most calls above the storage engine return.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed statement: what kind of failure, and a text that names the value and the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    code: Code,
    message: String,
}

impl Error {
    /// An error of the given kind. `message` follows MySQL's wording where MySQL has one.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error {
            code,
            message: message.into(),
        }
    }

    /// A broken invariant of this server: never the client's fault. Counted, shown as 1105.
    pub fn internal(invariant: impl fmt::Display) -> Error {
        INTERNAL_ERRORS.fetch_add(1, Ordering::Relaxed);
        Error::new(
            Code::Unknown,
            format!("internal error, please report it: {invariant}"),
        )
    }

    /// Something MySQL or Lindorm has and this server does not: error 1235.
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(
            Code::NotSupportedYet,
            format!("This version of Meseta doesn't yet support '{what}'"),
        )
    }

    /// The kind of failure.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The text for the client.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (errno, state) = (self.code.errno(), self.code.sqlstate());
        write!(f, "ERROR {errno} ({state}): {}", self.message)
    }
}

impl std::error::Error for Error {}

static INTERNAL_ERRORS: AtomicU64 = AtomicU64::new(0);

/// How many internal errors this process has met; should be zero.
pub fn internal_errors_count() -> u64 {
    INTERNAL_ERRORS.load(Ordering::Relaxed)
}

/// Declares [`Code`] from one table, so that a code cannot lack its errno, SQLSTATE or meaning.
macro_rules! codes {
    ($($name:ident = $errno:literal $state:literal $doc:literal;)*) => {
        /// The kinds of failure, one per MySQL errno that this server sends.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $doc] $name,)*
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// MySQL's error number.
            pub fn errno(self) -> u16 {
                match self { $(Code::$name => $errno,)* }
            }

            /// The five characters of SQLSTATE.
            pub fn sqlstate(self) -> &'static str {
                match self { $(Code::$name => $state,)* }
            }
        }
    };
}

codes! {
    CantCreateFile = 1004 "HY000" "A file could not be created.";
    DbCreateExists = 1007 "HY000" "CREATE DATABASE of a database that exists.";
    DbDropMissing = 1008 "HY000" "DROP DATABASE of a database that does not exist.";
    DiskFull = 1021 "HY000" "The disk is full.";
    TooManyConnections = 1040 "08004" "All connection slots are taken.";
    NoSuchOption = 1031 "HY000" "An option that the engine does not have.";
    OutOfResources = 1041 "HY000" "The server is out of memory.";
    HandshakeFailed = 1043 "08S01" "The hello packet could not be understood.";
    DbAccessDenied = 1044 "42000" "The user may not use this database.";
    HostBlocked = 1129 "HY000" "Too many failed logins from where the client is.";
    NoSuchUser = 1133 "42000" "No account of that name.";
    ColumnDenied = 1143 "42000" "The user may not do this to this column.";
    NoSuchGrant = 1141 "42000" "A grant that is not there.";
    NoSuchTableGrant = 1147 "42000" "A grant on a table that is not there.";
    IllegalGrant = 1144 "42000" "A privilege that cannot be granted on this.";
    AccountFailed = 1396 "HY000" "A statement on accounts that cannot be done.";
    CreateByGrant = 1410 "42000" "GRANT to a user that does not exist.";
    UserMissing = 3162 "HY000" "An account that does not exist.";
    UserExists = 3163 "HY000" "An account that exists.";
    RoleLoop = 3527 "HY000" "A role that would have itself.";
    RevokeGrants = 1269 "HY000" "REVOKE ALL from a user that does not exist.";
    NameTooLong = 1470 "HY000" "A user or host that is too long.";
    PluginMissing = 1524 "HY000" "An authentication plug-in that is not here.";
    UserLimit = 1226 "42000" "More connections than the account may have.";
    PasswordPolicy = 1819 "HY000" "A password that is too long.";
    MustChangePassword = 1820 "HY000" "A statement before the expired password was changed.";
    PasswordHashFormat = 1827 "HY000" "A password hash that is none.";
    PasswordExpired = 1862 "HY000" "A login with an expired password.";
    AccountLocked = 3118 "HY000" "A login to an account that is locked.";
    InsecureTransport = 3159 "HY000" "A connection without TLS where TLS is required.";
    UnknownAuthorization = 3523 "HY000" "A role that does not exist.";
    RoleNotGranted = 3530 "HY000" "A role that was not granted.";
    AccessDenied = 1045 "28000" "Wrong user or password.";
    NoDatabase = 1046 "3D000" "No database selected.";
    UnknownCommand = 1047 "08S01" "A command byte that this server does not know.";
    ColumnNotNull = 1048 "23000" "NULL for a NOT NULL column.";
    UnknownDatabase = 1049 "42000" "No database of that name.";
    TableExists = 1050 "42S01" "CREATE TABLE of a table that exists.";
    UnknownTable = 1051 "42S02" "DROP TABLE of a table that does not exist.";
    AmbiguousColumn = 1052 "23000" "A column name that two tables have.";
    ShuttingDown = 1053 "08S01" "The server is stopping.";
    UnknownColumn = 1054 "42S22" "No column of that name.";
    NotGrouped = 1055 "42000" "A selected column that is neither grouped nor aggregated.";
    IdentifierTooLong = 1059 "42000" "A name longer than 64 characters.";
    DuplicateColumn = 1060 "42S21" "Two columns of one name.";
    DuplicateKeyName = 1061 "42000" "Two indexes of one name.";
    DuplicateEntry = 1062 "23000" "A row with this key exists already.";
    WrongFieldSpec = 1063 "42000" "An attribute that does not go with the column's type.";
    Parse = 1064 "42000" "The statement is not of the language.";
    EmptyQuery = 1065 "42000" "A statement without text.";
    NonUniqueTable = 1066 "42000" "Two tables of one name or alias.";
    InvalidDefault = 1067 "42000" "A DEFAULT that the column's type cannot hold.";
    MultiplePrimaryKeys = 1068 "42000" "More than one primary key.";
    TooManyKeys = 1069 "42000" "More indexes than the limit.";
    TooManyKeyParts = 1070 "42000" "More key columns than the limit.";
    KeyTooLong = 1071 "42000" "A key longer than the limit.";
    KeyColumnMissing = 1072 "42000" "A key over a column that does not exist.";
    KeyColumnType = 1073 "42000" "A column whose type cannot be in a key.";
    ColumnTooBig = 1074 "42000" "A declared length over the limit.";
    BlobKeyWithoutLength = 1170 "42000" "A TEXT or BLOB column in a key.";
    NoPrimaryKey = 3750 "HY000" "A table without primary key.";
    WrongAutoKey = 1075 "42000" "`AUTO_INCREMENT` where it cannot be.";
    CantDropFieldOrKey = 1091 "42000" "DROP of a column or index that does not exist.";
    NoSuchThread = 1094 "HY000" "KILL of a connection that does not exist.";
    KillDenied = 1095 "HY000" "KILL of another user's connection.";
    NoTablesUsed = 1096 "HY000" "SELECT * without a table.";
    FileUnreadable = 13 "HY000" "A file on the server that cannot be read.";
    FileNotCreated = 1 "HY000" "A file on the server that cannot be made.";
    FileFailed = 3 "HY000" "Writing a file on the server failed.";
    FileExists = 1086 "HY000" "`INTO OUTFILE` a file that exists.";
    TextFileNotReadable = 1085 "HY000" "A path on the server that is no ordinary file.";
    WrongFieldTerminators = 1083 "42000" "An `ENCLOSED BY` or `ESCAPED BY` of more than one byte.";
    TooFewFields = 1261 "01000" "A line of a file with fewer fields than columns.";
    TooManyFields = 1262 "01000" "A line of a file with more fields than columns.";
    NotPreparable = 1295 "HY000" "A statement that cannot be prepared.";
    LocalFilesDisabled = 3948 "42000" "`LOAD DATA LOCAL` where it is not allowed.";
    NotPersisted = 3615 "HY000" "`RESET PERSIST` of a variable that was given no value to keep.";
    BlobDefault = 1101 "42000" "A DEFAULT on a type that cannot have one.";
    WrongDatabaseName = 1102 "42000" "A database name that is not allowed.";
    WrongTableName = 1103 "42000" "A table name that is not allowed.";
    TooBigSelect = 1104 "42000" "The statement would read the whole table, or too many keys.";
    Unknown = 1105 "HY000" "An internal error.";
    UnknownTableInQuery = 1109 "42S02" "A qualifier that names no table of the query.";
    ColumnSpecifiedTwice = 1110 "42000" "One column named twice.";
    InvalidGroupFunction = 1111 "HY000" "An aggregate where none can be.";
    TooManyColumns = 1117 "HY000" "More columns than the limit.";
    RowTooBig = 1118 "42000" "A row larger than the limit.";
    TableFull = 1114 "HY000" "Temporary files past their quota.";
    UnknownCharset = 1115 "42000" "A character set that is not utf8mb4.";
    ColumnNeeded = 1828 "HY000" "DROP of a column that a key needs.";
    NullInvalid = 1138 "22004" "NULL where a column is to take none.";
    CantRemoveAllColumns = 1090 "42000" "DROP of all columns.";
    ExpressionDependency = 3837 "HY000" "A change of a column that an expression names.";
    WrongFieldSpecifier = 1166 "42000" "A column name that is not allowed.";
    PrimaryKeyNull = 1171 "42000" "A key column declared NULL.";
    TableMustHaveColumns = 1113 "42000" "A table without columns.";
    NotAllowedForClient = 1148 "42000" "A command that this server does not allow.";
    NoPermission = 1142 "42000" "The user may not do this to this table.";
    TableMissing = 1146 "42S02" "No table of that name.";
    KeyMissing = 1176 "42000" "A hint names an index that does not exist.";
    CantCreateThread = 1135 "HY000" "The system gives no thread.";
    UnsafeUpdate = 1175 "HY000" "UPDATE or DELETE without a keyed condition.";
    WrongValueCount = 1136 "21S01" "A row with more or fewer values than columns.";
    MixedGroup = 1140 "42000" "Aggregates beside plain columns without GROUP BY.";
    PacketTooLarge = 1153 "08S01" "A packet over `max_allowed_packet`.";
    NetUncompress = 1157 "08S01" "A compressed packet that does not expand to what it says.";
    NetReadError = 1158 "08S01" "The connection failed while reading.";
    NetPacketsOutOfOrder = 1156 "08S01" "A packet with the wrong sequence number.";
    ErrorDuringCommit = 1180 "HY000" "It is unknown whether a commit took place.";
    UnknownSystemVariable = 1193 "HY000" "No system variable of that name.";
    LockWaitTimeout = 1205 "HY000" "A row lock was not granted in time.";
    WrongArguments = 1210 "HY000" "Arguments that do not fit.";
    ZlibTooBig = 1256 "HY000" "A compressed text that says it is larger than `max_allowed_packet`.";
    ZlibBuffer = 1258 "HY000" "A compressed text that is longer than it says.";
    ZlibData = 1259 "HY000" "A compressed text that is damaged.";
    NoBinaryLogging = 1381 "HY000" "A list of binary logs, where there is none.";
    ReservedSyntax = 1382 "HY000" "A form that only the server itself may write.";
    Deadlock = 1213 "40001" "A concurrent transaction changed the same rows: try again.";
    OperandColumns = 1241 "21000" "A row where a value must be, or the reverse.";
    SubqueryRows = 1242 "21000" "A scalar subquery with more than one row.";
    UnknownStatement = 1243 "HY000" "EXECUTE of a statement that was not prepared.";
    GlobalVariable = 1229 "HY000" "A global variable set for the session.";
    LocalVariable = 1228 "HY000" "A session variable set globally.";
    NoVariableDefault = 1230 "42000" "A variable that has no default.";
    VariableValue = 1231 "42000" "A value that the variable cannot take.";
    VariableType = 1232 "42000" "A value of the wrong type for the variable.";
    AccessNeeded = 1227 "42000" "A privilege that the user lacks.";
    TableDefinitionChanged = 1412 "HY000" "A table that was altered since the transaction began.";
    NotSupportedYet = 1235 "42000" "Something MySQL has and this server does not.";
    TooManyTables = 1116 "HY000" "More tables in one query than the limit.";
    SetColumnsCount = 1222 "21000" "Queries of a UNION with different numbers of columns.";
    RecursionWithoutUnion = 3573 "HY000" "A recursive common table expression that is no union.";
    RecursionWithoutBeginning = 3574 "HY000" "A recursive common table expression that does not begin with other rows.";
    RecursionAggregates = 3575 "HY000" "A recursive common table expression that aggregates its own rows.";
    RecursionOuterJoined = 3576 "HY000" "A recursive common table expression that need not read its own rows.";
    RecursionNotOnce = 3577 "HY000" "A recursive common table expression that names itself twice, or in a subquery.";
    RecursionTooDeep = 3636 "HY000" "A recursive common table expression of too many rounds.";
    WrongUsage = 1221 "HY000" "Two clauses that do not go together.";
    VariableReadOnly = 1238 "HY000" "A variable that cannot be set.";
    SessionReadOnly = 1621 "HY000" "A variable that a session cannot set for itself.";
    DerivedAlias = 1248 "42000" "A derived table without alias.";
    OutOfRange = 1264 "22003" "A number outside the column's range.";
    NotUpdatable = 1288 "HY000" "UPDATE or DELETE of what is no table.";
    DataTruncated = 1265 "01000" "A value of which something is lost.";
    NullToNotNull = 1263 "22004" "NULL for a NOT NULL column in a later row.";
    UnknownCollation = 1273 "HY000" "A collation that is not `utf8mb4_bin`.";
    WrongNameForIndex = 1280 "42000" "An index name that is not allowed.";
    IncorrectTypeValue = 1292 "22007" "A text that is not a value of the type.";
    UnknownTimeZone = 1298 "HY000" "No time zone of that name.";
    InvalidCharacterString = 1300 "HY000" "Bytes that are not utf8mb4.";
    PacketOverflowed = 1301 "HY000" "A result over `max_allowed_packet`.";
    FunctionMissing = 1305 "42000" "No function of that name.";
    QueryInterrupted = 1317 "70100" "The statement was killed.";
    IncorrectValue = 1366 "HY000" "A value that the column's type cannot hold.";
    NoDefault = 1364 "HY000" "No value for a column without default.";
    DivisionByZero = 1365 "22012" "A division by zero.";
    OptionPreventsStatement = 1290 "HY000" "The server runs with an option that forbids this.";
    DataTooLong = 1406 "22001" "A text longer than its column.";
    TooBigPrecision = 1426 "42000" "More digits than a type can have.";
    ScaleOverPrecision = 1427 "42000" "More decimals than digits.";
    TooBigFraction = 1425 "42000" "More decimals than a type can have.";
    DatetimeOverflow = 1441 "22008" "A date beyond its range.";
    QueryTimeout = 3024 "HY000" "`max_execution_time` is over.";
    WrongParameterCount = 1582 "42000" "A function with the wrong number of arguments.";
    WrongParameters = 1583 "42000" "A function with arguments it cannot take.";
    TooManyUserConnections = 1203 "42000" "The user has too many connections.";
    CapacityExceeded = 1038 "HY001" "A sort needs more memory than allowed.";
    AutoIncrementEnd = 1467 "HY000" "No `AUTO_INCREMENT` id is left in the column's type.";
    SavepointMissing = 1305 "42000" "No savepoint of that name.";
    TransactionCharacteristics = 1568 "25001" "SET TRANSACTION inside a transaction.";
    ReadOnlyTransaction = 1792 "25006" "A write in a read-only transaction.";
    TooManyStatements = 1461 "42000" "More prepared statements than the limit.";
    TransactionTooLarge = 1197 "HY000" "A transaction with more bytes than the engine takes at once.";
    TooManyPlaceholders = 1390 "HY000" "More parameters than the limit.";
    NumericOverflow = 1690 "22003" "The result of arithmetic is out of range.";
    InvalidRegexp = 3685 "HY000" "A regular expression that does not parse.";
    WrongValueForFunction = 1411 "HY000" "A value that a function cannot read.";
    InvalidLogarithm = 3020 "2201E" "The logarithm of a number that has none.";
    InvalidJson = 3140 "22032" "A text that is not JSON.";
    InvalidJsonPath = 3143 "42000" "A text that is not a JSON path.";
    JsonCharset = 3144 "22032" "JSON of a text in another character set.";
    InvalidTypeForJson = 3146 "22032" "A function argument that can be no JSON.";
    JsonPathWildcard = 3149 "42000" "A JSON path with wildcards where one value is meant.";
    JsonVacuousPath = 3153 "42000" "The JSON path `$` where a part is meant.";
    JsonOneOrAll = 3154 "42000" "A word that is neither 'one' nor 'all'.";
    JsonTooDeep = 3157 "22032" "A JSON document with more levels than the limit.";
    JsonNullMember = 3158 "22032" "A member of a JSON document without name.";
    JsonPathNoCell = 3165 "42000" "A JSON path that leads to no cell of an array.";
    WrongCompression = 3922 "HY000" "The client compresses in no way that is permitted.";
    DigestFailed = 3676 "HY000" "A text that is no statement, for a digest function.";
    DefinerInUse = 4006 "HY000" "An account that views are made for is to go.";
    JsonValueMissing = 3966 "22035" "`JSON_VALUE` found nothing, and that was to be an error.";
    JsonValuesMany = 3967 "22034" "`JSON_VALUE` found several values, and that was to be an error.";
    IncorrectArgumentType = 3064 "HY000" "A function argument of the wrong type.";
    RegexpTimeout = 3699 "HY000" "A regular expression that would take too long on its text.";
    CharacterSetMismatch = 3995 "HY000" "A regular expression of text for bytes, or of bytes for text.";
    RegexpOutOfBounds = 3686 "HY000" "A position outside the text that is searched.";
    InvalidJsonArgument = 3141 "22032" "A function argument that is not JSON.";
    UnknownLocale = 1649 "HY000" "No locale of that name.";
    BitOperandsLength = 3513 "HY000" "A bit operator between binary strings of different lengths.";
    CutByGroupConcat = 1260 "HY000" "A text that `GROUP_CONCAT` cut off.";
    NamedLockName = 3057 "42000" "A name that no lock can have.";
    NamedLockDeadlock = 3058 "HY000" "Connections that wait for each other's named locks.";
    IndexCommentTooLong = 1688 "HY000" "A comment of an index longer than the limit.";
    WrongPrefixKey = 1089 "42000" "A prefix in a key that is longer than its column, or of no string.";
    PrefixKeyZero = 1391 "HY000" "A prefix in a key of no characters.";
    ExpressionIndexTruncated = 3751 "HY000" "A value that the type of an indexed expression cannot hold.";
    ExpressionIndexOnJson = 3753 "HY000" "An index on an expression that gives JSON.";
    ExpressionPrimaryKey = 3756 "HY000" "A primary key of an expression.";
    ExpressionIndexFunction = 3758 "HY000" "An index that computes what is not the same for every session.";
    WrongExpressionIndex = 3761 "HY000" "An expression that cannot be indexed.";
    ExpressionIndexOnColumn = 3762 "HY000" "An index on an expression that is a column.";
    JsonKey = 3152 "42000" "A JSON column in a key.";
    DurationOverflow = 1525 "HY000" "A value of an unknown unit.";
    TooDeep = 1436 "HY000" "An expression nested deeper than the limit.";
    UnknownDataType = 1149 "42000" "A type this server does not have.";
    PartialResult = 1028 "HY000" "Sorting was cut off.";
    EngineReadOnly = 1836 "HY000" "The engine stopped taking writes after a storage failure.";
    StorageFailure = 1030 "HY000" "The storage engine failed.";
    StorageCorrupt = 1712 "HY000" "Stored bytes are damaged.";
    DeprecatedHint = 1681 "HY000" "A hint that has no meaning here.";
    WrongGroupKey = 1056 "42000" "GROUP BY something that contains an aggregate.";
    ViewNotExplained = 1345 "HY000" "A plan of a view without the rights on what it is made of.";
    WrongObject = 1347 "HY000" "A view where a table must be, or a table where a view must be.";
    ColumnNotUpdatable = 1348 "HY000" "An assignment to a computed column of a view.";
    ViewSelectInto = 1350 "HY000" "A view of a query with INTO.";
    ViewSelectVariable = 1351 "HY000" "A view of a query with variables or parameters.";
    ViewNotMerged = 1354 "HY000" "A view that cannot be merged although it should be.";
    ViewInvalid = 1356 "HY000" "A view of tables or columns that are not there any more.";
    ViewChangesSeveral = 1393 "HY000" "A write to several tables through one view.";
    ViewDeletesSeveral = 1395 "HY000" "A DELETE through a view of several tables.";
    NotInsertable = 1471 "HY000" "An INSERT into what takes no rows.";
    TooManyRows = 1172 "42000" "`SELECT … INTO` of more than one row.";
    OptionMisplaced = 1234 "42000" "An option of SELECT where it cannot be.";
    UndeclaredVariable = 1327 "42000" "INTO a variable that was not declared.";
    NoData = 1329 "02000" "`SELECT … INTO` of no row.";
    MisplacedInto = 3954 "HY000" "INTO inside of a statement.";
    TableFunctionAlias = 3664 "HY000" "`JSON_TABLE` without alias.";
    JsonTableMissing = 3665 "22035" "`JSON_TABLE` found nothing, and that was to be an error.";
    JsonTableScalar = 3666 "2203F" "`JSON_TABLE` found no scalar, and that was to be an error.";
    InvalidJsonType = 3853 "22032" "A JSON document of another type than is needed.";
    InvalidJsonForCast = 3156 "22018" "A JSON value that is no value of a type.";
    ViewColumnCount = 1353 "HY000" "A list of names longer or shorter than what it names.";
    DistinctOrder = 3065 "HY000" "SELECT DISTINCT sorted by what is not selected.";
    InvalidOnUpdate = 1294 "HY000" "ON UPDATE on a column that cannot hold the time.";
    DuplicateEnumMember = 1291 "HY000" "Two members of one name in an ENUM.";
    ParserCapacity = 3170 "HY000" "A statement of more words than the limit.";
    IllegalDouble = 1367 "22007" "A number with an exponent beyond DOUBLE.";
    UnknownExplainFormat = 1791 "HY000" "EXPLAIN FORMAT with an unknown name.";
    MalformedPacket = 1835 "HY000" "A packet that ends early or holds what cannot be.";
    NoOpenCursor = 1421 "HY000" "FETCH of a statement without an open cursor.";
    IdleTooLong = 4031 "HY000" "The client was silent for longer than `wait_timeout`.";
    WindowMissing = 3579 "HY000" "No window of that name.";
    WindowCircle = 3580 "HY000" "A window that goes on from itself.";
    WindowPartitionTwice = 3581 "HY000" "A window that parts what another has parted.";
    WindowFrameInherited = 3582 "HY000" "A window that goes on from one with a frame.";
    WindowOrderTwice = 3583 "HY000" "A window that sorts what another has sorted.";
    FrameStart = 3584 "HY000" "A frame that starts behind all rows.";
    FrameEnd = 3585 "HY000" "A frame that ends before all rows.";
    FrameBounds = 3586 "HY000" "A frame that ends before it starts, or a distance that is none.";
    RangeOrder = 3587 "HY000" "A frame of distances without one ORDER BY of numbers or times.";
    RangeTemporal = 3588 "HY000" "A frame of numbers over times.";
    RangeNumeric = 3589 "HY000" "A frame of intervals over numbers.";
    RangeNotConstant = 3590 "HY000" "A frame whose distance is not constant.";
    WindowTwice = 3591 "HY000" "Two windows of one name.";
    WindowOrdinal = 3592 "HY000" "A window over the n-th of the select list.";
    WindowMisplaced = 3593 "HY000" "A window function where none can be.";
    WindowAliasMisplaced = 3594 "HY000" "An alias of a window function where none can be.";
    WindowNested = 3595 "HY000" "A window over a window function.";
    RowsInterval = 3596 "HY000" "A frame of rows with an interval.";
    GroupingArgument = 3602 "HY000" "`GROUPING` of what is not grouped.";
    LintRisingKey = 7001 "01000" "A primary key whose first column is a moment.";
    LintFewValuesKey = 7002 "01000" "A primary key whose first column has few values.";
    LintWideKey = 7003 "01000" "A primary key of many columns.";
    LintLongKey = 7004 "01000" "A primary key of long values.";
    LintCommonPrefixKey = 7005 "01000" "Keys that begin alike.";
    LintRedundantIndex = 7006 "01000" "An index that another key replaces.";
    LintManyIndexes = 7007 "01000" "A table with many indexes.";
    LintNearConstantIndex = 7008 "01000" "An index of few values.";
    LintNearUniqueIndex = 7009 "01000" "A plain index whose values are all different.";
    LintUnusedIndex = 7010 "01000" "An index that nobody reads.";
    LintLatestFirst = 7011 "01000" "A key that is read from its end.";
    HiddenWrite = 1210 "HY000" "A write that is dated before a deletion.";
    FeatureIgnored = 1235 "42000" "An option that is kept but has no effect.";
}
