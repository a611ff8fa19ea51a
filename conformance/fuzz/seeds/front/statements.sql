SELECT * FROM t WHERE (a, b) IN ((1, 2), (3, 4)) AND c LIKE 'ab%\_' OR a BETWEEN ? AND 9223372036854775808

SELECT /*+ _l_allow_filtering_ MAX_EXECUTION_TIME(10) */ x, COUNT(*), SUM(z), AVG(x), GROUP_CONCAT(y) FROM t WHERE a = 1 GROUP BY x HAVING COUNT(*) > 1 ORDER BY 2 DESC, x LIMIT 10 OFFSET 5

SELECT * FROM v WHERE n = 1.5 AND f > -0.0 AND ts = '2024-02-29 12:34:56' AND tm < '-838:59:59' AND en = 'a'

UPDATE t SET x = x + 1, y = CONCAT(y, ?), z = DEFAULT WHERE a = 1 AND b >= 2 ORDER BY a LIMIT 3

DELETE FROM orders WHERE channel IN ('a', 'b') AND id <=> NULL AND NOT (ts < 5 XOR ts > 7)

INSERT INTO t (a, b, c, d, x) VALUES (1, 2, 'c', NOW(3), ~0), (-1, 1e3, 0x41, '0000-00-00', NULL) ON DUPLICATE KEY UPDATE x = VALUES(x) + 1, y = 'z'

UPSERT INTO orders VALUES ('a', 'b', 1, 's', 'l'), (?, ?, ?, ?, ?)

REPLACE INTO u SET id = 0, js = '{"a": [1, 2, {"b": null}]}', en = 2, tm = '25:61', ye = 70

SELECT js->'$.a[0]', js->>'$."b"', JSON_EXTRACT(js, '$.*', '$**.c') FROM u WHERE id = 1

SELECT CASE a WHEN 1 THEN 'x' ELSE 2 END, CAST(z AS UNSIGNED), CONVERT(y, CHAR(3)), d + INTERVAL 1 DAY_HOUR, y REGEXP '^a+$', -a << 63, a DIV 0, x % -1, b - a FROM t WHERE a = 1

CREATE TABLE w (a INT, b VARCHAR(9) COMMENT 'it''s', c DECIMAL(65,30) DEFAULT 1.5, d DATETIME(6) DEFAULT NOW(6) ON UPDATE NOW(6), e ENUM('x', 'y''') DEFAULT 'x', PRIMARY KEY (a DESC, b)) COMMENT='c' WITH (COMPRESSION = 'ZSTD'); EXPLAIN FORMAT=JSON SELECT * FROM w WHERE a > 1 AND b = 'x'; INSERT IGNORE INTO w VALUES (1, 'too long a text', 1e40, '2024-13-01', 'z')

SET SESSION sql_mode = 'ANSI_QUOTES', @a = 1, @@global.time_zone = '+01:00', NAMES utf8mb4; SHOW FULL COLUMNS FROM t LIKE 'a%'; BEGIN; SAVEPOINT s; KILL QUERY 5; PREPARE p FROM 'SELECT ?'; EXECUTE p USING @a; DO 1, 2

SELECT * FROM orders WHERE channel = 'alipay' AND ts IN (1, 2, 3) ORDER BY channel DESC, id DESC, ts DESC LIMIT 18446744073709551615
