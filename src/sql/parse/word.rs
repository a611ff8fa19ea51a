//! The words of the language: MySQL 8.0's reserved ones, and the others that the grammar uses.
//!
//! Source: MySQL 8.0 Reference Manual, chapter "Keywords and Reserved Words". A reserved word is
//! never a name unless quoted or after a point; the others are names wherever a name may stand.

/// Declares [`Word`] and its two sorted tables.
macro_rules! words {
    (reserved { $($reserved:ident)* } free { $($free:ident)* }) => {
        /// A word that the grammar knows. Named as SQL writes it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(
            non_camel_case_types,
            clippy::upper_case_acronyms,
            reason = "each variant is spelled as the word it stands for"
        )]
        pub(super) enum Word {
            $($reserved,)*
            $($free,)*
        }

        /// Sorted by name.
        const RESERVED: &[(&str, Word)] = &[$((stringify!($reserved), Word::$reserved),)*];
        /// Sorted by name.
        const FREE: &[(&str, Word)] = &[$((stringify!($free), Word::$free),)*];

        impl Word {
            /// Whether the word is no name unless quoted.
            pub(super) fn is_reserved(self) -> bool {
                match self {
                    $(Word::$reserved => true,)*
                    $(Word::$free => false,)*
                }
            }

            /// The word in capitals.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Word::$reserved => stringify!($reserved),)*
                    $(Word::$free => stringify!($free),)*
                }
            }
        }
    };
}

words! {
    reserved {
        ACCESSIBLE ADD ALL ALTER ANALYZE AND AS ASC ASENSITIVE BEFORE BETWEEN BIGINT BINARY BLOB
        BOTH BY CALL CASCADE CASE CHANGE CHAR CHARACTER CHECK COLLATE COLUMN CONDITION CONSTRAINT
        CONTINUE CONVERT CREATE CROSS CUBE CUME_DIST CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP
        CURRENT_USER CURSOR DATABASE DATABASES DAY_HOUR DAY_MICROSECOND DAY_MINUTE DAY_SECOND DEC
        DECIMAL DECLARE DEFAULT DELAYED DELETE DENSE_RANK DESC DESCRIBE DETERMINISTIC DISTINCT
        DISTINCTROW DIV DOUBLE DROP DUAL EACH ELSE ELSEIF EMPTY ENCLOSED ESCAPED EXCEPT EXISTS
        EXIT EXPLAIN FALSE FETCH FIRST_VALUE FLOAT FLOAT4 FLOAT8 FOR FORCE FOREIGN FROM FULLTEXT
        FUNCTION GENERATED GET GRANT GROUP GROUPING GROUPS HAVING HIGH_PRIORITY HOUR_MICROSECOND
        HOUR_MINUTE HOUR_SECOND IF IGNORE IN INDEX INFILE INNER INOUT INSENSITIVE INSERT INT INT1
        INT2 INT3 INT4 INT8 INTEGER INTERSECT INTERVAL INTO IO_AFTER_GTIDS IO_BEFORE_GTIDS IS
        ITERATE JOIN JSON_TABLE KEY KEYS KILL LAG LAST_VALUE LATERAL LEAD LEADING LEAVE LEFT LIKE
        LIMIT LINEAR LINES LOAD LOCALTIME LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT LOOP
        LOW_PRIORITY MASTER_BIND MASTER_SSL_VERIFY_SERVER_CERT MATCH MAXVALUE MEDIUMBLOB MEDIUMINT
        MEDIUMTEXT MIDDLEINT MINUTE_MICROSECOND MINUTE_SECOND MOD MODIFIES NATURAL NOT
        NO_WRITE_TO_BINLOG NTH_VALUE NTILE NULL NUMERIC OF ON OPTIMIZE OPTIMIZER_COSTS OPTION
        OPTIONALLY OR ORDER OUT OUTER OUTFILE OVER PARTITION PERCENT_RANK PRECISION PRIMARY
        PROCEDURE PURGE RANGE RANK READ READS READ_WRITE REAL RECURSIVE REFERENCES REGEXP RELEASE
        RENAME REPEAT REPLACE REQUIRE RESIGNAL RESTRICT RETURN REVOKE RIGHT RLIKE ROW ROWS
        ROW_NUMBER SCHEMA SCHEMAS SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SET SHOW SIGNAL
        SMALLINT SPATIAL SPECIFIC SQL SQLEXCEPTION SQLSTATE SQLWARNING SQL_BIG_RESULT
        SQL_CALC_FOUND_ROWS SQL_SMALL_RESULT SSL STARTING STORED STRAIGHT_JOIN SYSTEM TABLE
        TERMINATED THEN TINYBLOB TINYINT TINYTEXT TO TRAILING TRIGGER TRUE UNDO UNION UNIQUE
        UNLOCK UNSIGNED UPDATE USAGE USE USING UTC_DATE UTC_TIME UTC_TIMESTAMP VALUES VARBINARY
        VARCHAR VARCHARACTER VARYING VIRTUAL WHEN WHERE WHILE WINDOW WITH WRITE XOR YEAR_MONTH
        ZEROFILL
    }
    free {
        ACTION ADDDATE ADVISE AFTER AGAINST ALWAYS ANY ASCII ASYNC AT AUTO_INCREMENT BACKUP BEGIN BENCHMARK
        BINLOG BIT BOOL BOOLEAN BTREE CACHE CAST CHAIN CHANNEL CHARSET CHECKSUM CLONE CLOSE COLLATION
        COLUMNS COLUMN_FORMAT COMMENT COMMIT COMMITTED CONNECTION CONSISTENT COPY COUNT CURDATE
        CURRENT CURTIME DATA DATE DATETIME DATE_ADD DATE_SUB DAY DEALLOCATE DISABLE DISCARD DISK DO
        DUPLICATE ENABLE ENCRYPTION END ENFORCED ENGINE ENGINES ENGINE_ATTRIBUTE ENUM ERROR ERRORS
        ESCAPE EVENT EVENTS EXCLUDE EXECUTE EXTENDED EXTRACT FIELDS FIRST FIXED FLUSH FOLLOWING
        FORMAT FULL FUNCTIONS GEOMETRY GEOMETRYCOLLECTION GET_FORMAT GLOBAL GRANTS GROUP_CONCAT
        HANDLER HASH HELP HOUR IMPORT
        INCLUDE INDEXES INPLACE INSTALL INVISIBLE ISOLATION JSON JSON_VALUE KEY_BLOCK_SIZE KV
        LANGUAGE LAST LEVEL LINESTRING LIST LOCAL LOCKED LOGS MASTER MEMBER MEMORY MERGE
        MICROSECOND MID MINUTE MODE MODIFY MONTH MULTILINESTRING MULTIPOINT MULTIPOLYGON NAMES
        NATIONAL NCHAR NEXT NO NONE NOW NOWAIT NULLS NVARCHAR OFF OFFSET ONLY OPEN OPTIONS PARSER
        PARTITIONS PASSWORD PERSIST PERSIST_ONLY PLUGIN PLUGINS POINT POLYGON POSITION PRECEDING
        PREPARE PRIVILEGES PROCESSLIST PROFILE PROFILES PROXY QUARTER QUERY QUICK REBUILD REPAIR
        REPEATABLE REPLICA REPLICAS RESET RESPECT RESTART RETURNING ROLE ROLLBACK ROLLUP ROW_FORMAT
        SAVEPOINT SECOND SECURITY SERIAL SERIALIZABLE SERVER SESSION SHARE SHUTDOWN SIGNED SIMPLE
        SKIP SLAVE SNAPSHOT SOME SOUNDS SQL_BUFFER_RESULT SQL_CACHE SQL_NO_CACHE START STATEMENT
        STATUS STOP STORAGE SUBDATE SUBSTR SUBSTRING SYNC TABLES TABLESPACE TEMPORARY TEXT TIME
        TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TRADITIONAL TRANSACTION TRASH TREE TRIGGERS TRIM TRUNCATE
        UNBOUNDED UNCOMMITTED UNDROP UNICODE UNINSTALL UNKNOWN UPSERT USER VALUE VARIABLES VIEW VISIBLE WARNINGS
        WEEK WEIGHT_STRING WORK XA XML YEAR ZONE
    }
}

/// Length of the longest word, in bytes.
const WORD_BYTES_MAX: usize = 29;

impl Word {
    /// The word spelled so, in any case.
    pub(super) fn find(text: &[u8]) -> Option<Word> {
        let mut upper = [0_u8; WORD_BYTES_MAX];
        let upper = upper.get_mut(..text.len())?;
        upper.copy_from_slice(text);
        upper.make_ascii_uppercase();
        let within = |table: &[(&str, Word)]| {
            let found = table.binary_search_by(|(name, _)| name.as_bytes().cmp(upper));
            found
                .ok()
                .and_then(|idx| table.get(idx))
                .map(|(_, word)| *word)
        };
        within(RESERVED).or_else(|| within(FREE))
    }
}

/// Every word, in order, and whether it is reserved.
pub fn keywords() -> impl Iterator<Item = (&'static str, bool)> {
    let mut words: Vec<(&'static str, bool)> = Vec::with_capacity(RESERVED.len() + FREE.len());
    words.extend(RESERVED.iter().map(|(word, _)| (*word, true)));
    words.extend(FREE.iter().map(|(word, _)| (*word, false)));
    words.sort_unstable();
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_words_fit() {
        for table in [RESERVED, FREE] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0));
            assert!(table.iter().all(|(name, _)| name.len() <= WORD_BYTES_MAX));
            for (name, word) in table {
                assert_eq!(Word::find(name.to_lowercase().as_bytes()), Some(*word));
            }
        }
        assert_eq!(Word::find(b"elephant"), None);
        assert_eq!(Word::find(&[b'a'; 100]), None);
    }
}
