"""What SQLAlchemy's suite may expect: what its own MySQL dialect declares, less what is not here."""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

HERE = """
    create_table_as create_temp_table_as table_ddl_if_exists unique_constraints_reflect_as_index
    boolean_col_expressions intersect except_ window_functions window_range ctes
    dbapi_lastrowid views schemas implicit_default_schema server_side_cursors comment_reflection
    comment_reflection_full_unicode column_collation_reflection view_column_reflection has_temp_table
    create_or_replace_view indexes_check_column_order unique_index_reflect_as_unique_constraints
    unicode_ddl datetime_literals timestamp_microseconds date_historic datetime_historic autocommit
    skip_autocommit_rollback isolation_level get_isolation_level_values json_type
    precision_numerics_enotation_small precision_numerics_many_significant_digits
    cast_precision_numerics_many_significant_digits precision_numerics_retains_significant_digits
    float_or_double_precision_behaves_generically savepoints mod_operator_as_percent_sign
    order_by_label_with_expression regexp_match regexp_replace supports_bitwise_or supports_bitwise_and
    supports_bitwise_not supports_bitwise_xor supports_bitwise_shift temp_table_reflection
    temp_table_reflect_indexes reflect_table_options expression_server_defaults
    implicitly_named_constraints time_microseconds datetime_microseconds update_from delete_from
""".split()
"""Requirements that SQLAlchemy leaves to the dialect and that are met."""

NOT_HERE = """
    foreign_key_constraint_reflection recursive_fk_cascade on_update_cascade
    on_update_or_deferrable_fks check_constraint_reflection inline_check_constraint_reflection
    foreign_keys_reflect_as_index ctes_with_update_delete
""".split()
"""What is left out here: foreign keys, checks, and WITH before UPDATE and DELETE."""

NOT_IN_MYSQL = """
    delete_returning insert_returning update_returning sequences unbounded_varchar
    sql_expression_limit_offset datetime_microseconds time_microseconds timestamp_microseconds
    date_implicit_bound time_implicit_bound datetime_implicit_bound precision_generic_float_type
    literal_float_coercion supports_bitwise_not
""".split()
"""What SQLAlchemy's own requirements of MySQL leave out."""


class Requirements(SuiteRequirements):
    """Requirements of a MySQL 8 server that keeps no foreign keys."""

    @property
    def default_isolation(self):
        return "REPEATABLE READ"

    def get_isolation_levels(self, config):
        levels = ["SERIALIZABLE", "READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "AUTOCOMMIT"]
        return {"default": "REPEATABLE READ", "supported": levels}


def _constant(name, make):
    prop = property(lambda self: make())
    setattr(Requirements, name, prop)


for _name in HERE:
    _constant(_name, exclusions.open)
for _name in NOT_HERE + NOT_IN_MYSQL:
    _constant(_name, exclusions.closed)
