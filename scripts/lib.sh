# Helpers of the scripts; to be sourced from the root of the repository.

# Prints the comment at the head of a script.
say_what_it_is() { # script
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "scripts/$(basename "$1")"
}

# Where cargo puts what it builds.
target_directory() {
    echo "${CARGO_TARGET_DIR:-target}"
}

# Waits until a server tells its address in its log; prints host:port.
wait_for_server() { # log file, process id
    local address
    for _ in $(seq 600); do
        address=$(sed -n 's/.*listening on \([0-9.]*:[0-9]*\).*/\1/p' "$1" | head -1)
        if [ -n "$address" ]; then
            echo "$address"
            return 0
        fi
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

venv_directory() {
    echo "${XDG_CACHE_HOME:-$HOME/.cache}/meseta-venv"
}

# A Python that has PyMySQL: the system's, or one of our own environment. Prints its path.
python_with_pymysql() {
    local venv
    if python3 -c 'import pymysql' 2>/dev/null; then
        command -v python3
        return 0
    fi
    venv=$(venv_directory)
    if ! "$venv/bin/python" -c 'import pymysql' 2>/dev/null; then
        python3 -m venv "$venv" >/dev/null 2>&1 || return 1
        "$venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 PyMySQL >/dev/null 2>&1 || return 1
    fi
    echo "$venv/bin/python"
}

# A Python of our own environment that has what conformance/logins uses. Prints its path.
python_with_clients() {
    local venv
    venv=$(venv_directory)
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv" >/dev/null 2>&1 || return 1
    if ! "$venv/bin/python" -c 'import pymysql, cryptography, mysql.connector' 2>/dev/null; then
        "$venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 PyMySQL cryptography mysql-connector-python >/dev/null 2>&1
    fi
    "$venv/bin/python" -c 'import pymysql' 2>/dev/null || return 1
    echo "$venv/bin/python"
}

# Installs Debian packages when a command is missing and we may; says nothing when it cannot.
ensure_packages() { # package…
    command -v apt-get >/dev/null || return 1
    local sudo=
    [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && sudo='sudo -n' || return 1; }
    export DEBIAN_FRONTEND=noninteractive
    $sudo apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 && return 0
    $sudo apt-get update -qq >/dev/null 2>&1
    $sudo apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}

# The Python that the Python clients' packages are installed for (conformance/python_install).
python_of_conformance() {
    local python=$MESETA_CACHE/../python/bin/python
    [ -x "$python" ] && echo "$python"
}
