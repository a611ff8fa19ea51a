<?php
// What the checks of both extensions share: the lines they print, where the server is, the lists.

declare(strict_types=1);

const PROMPT_SECONDS = 5;
const STREAM_BYTES_MAX = 20_000_000;
$failed = false;

/** What a check throws that cannot be made with this client, with the reason. */
final class Skip extends Exception {}

function check(string $name, callable $body): void
{
    global $failed;
    $start = microtime(true);
    try {
        $body();
        echo "ok $name\n";
    } catch (Skip $skip) {
        echo "skip $name: {$skip->getMessage()}\n";
    } catch (Throwable $error) {
        $failed = true;
        echo "FAIL $name: ", substr(preg_replace('/\s+/', ' ', $error->getMessage()), 0, 400), "\n";
        fwrite(STDERR, "$error\n");
    }
    fprintf(STDERR, "%s: %d ms\n", $name, (microtime(true) - $start) * 1000);
}

function same(string $what, mixed $found, mixed $expected): void
{
    if ($found !== $expected) {
        $cut = fn ($value) => substr(json_encode($value, JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE | JSON_PRESERVE_ZERO_FRACTION), 0, 200);
        throw new Exception("$what: found {$cut($found)}, expected {$cut($expected)}");
    }
}

function env(string $name): string
{
    return (string) getenv($name);
}

/** The lines of a list, each as its fields. */
function listed(string $name): array
{
    $lines = file(env('MESETA_CHECKLIST') . "/$name", FILE_IGNORE_NEW_LINES);
    return array_map(fn ($line) => explode("\t", $line), $lines);
}

/** What a cell of types.tsv is in PHP's own type. */
function value(string $kind, string $text): mixed
{
    return match ($kind) {
        'bool', 'int' => (int) $text,
        // Past PHP_INT_MAX it is text; a YEAR always is, because of its ZEROFILL.
        'uint' => (string) (int) $text === $text ? (int) $text : $text,
        'float', 'double' => (float) $text,
        'bytes' => hex2bin($text),
        default => $text,
    };
}

/** A cell as it is compared: floats to the digits they have, numbers as text in the text protocol. */
function comparable(string $kind, mixed $found, bool $isText): mixed
{
    return match (true) {
        $found === null => null,
        $kind === 'float' => sprintf('%.4e', $found),
        $kind === 'double' => (float) $found,
        $isText => (string) $found,
        default => $found,
    };
}

function compare(array $rows, bool $isText): void
{
    same('rows', count($rows), 2);
    foreach ($rows as $idx => $row) {
        foreach (listed('types.tsv') as [$name, , $kind, $low, $high]) {
            $wanted = value($kind, $idx === 0 ? $low : $high);
            same("$name of row " . $idx + 1, comparable($kind, $row[$name], $isText), comparable($kind, $wanted, $isText));
        }
    }
}

function resident(): int
{
    preg_match('/VmRSS:\s+(\d+)/', file_get_contents('/proc/self/status'), $found);
    return 1024 * (int) $found[1];
}

const COUNT_SQL = "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(v = CONCAT('v', id))) FROM batch_check WHERE id > 0";
const TABLE_SQL = "CREATE TABLE browse_check (a INT, b VARCHAR(20) DEFAULT 'x' COMMENT 'second', PRIMARY KEY (a), UNIQUE KEY by_b (b))";
