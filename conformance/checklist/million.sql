SET SESSION sql_big_selects = ON;
CREATE TABLE IF NOT EXISTS conformance.digits (d INT PRIMARY KEY);
REPLACE INTO conformance.digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
CREATE TABLE IF NOT EXISTS conformance.million (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL);
REPLACE INTO conformance.million
  SELECT n, CONCAT('row ', n)
  FROM (SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d AS n
        FROM conformance.digits a, conformance.digits b, conformance.digits c, conformance.digits d,
             conformance.digits e, conformance.digits f) numbers;
