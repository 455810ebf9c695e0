"""The patterns to look for in a syntax tree: one row a grammar, compiled into one tree-sitter query each.

Captures named after a kind (`@function`, `@class`) are symbols; the others start with an underscore:
`@_call` a call whose target this file may define, `@_member` a method call on an unknown receiver,
`@_import`, `@_base`, and `@_wrap` a node that belongs to the symbol right inside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    grammar: str
    """`module:function`, imported when the first file of the language is parsed."""
    symbols: Mapping[str, str]
    """Node type → kind, for nodes that are always a symbol."""
    patterns: str
    wrappers: tuple[str, ...] = ()
    comments: tuple[str, ...] = ("comment",)
    attributes: tuple[str, ...] = ()
    """Nodes that stand above a definition as its sibling, like Rust's `#[derive]`."""
    name_fields: tuple[str, ...] = ("name",)
    owner_field: str = ""
    """A field naming the type that a method belongs to, where it is not nested in it (Go)."""
    separator: str = "."
    own: tuple[str, ...] = ()
    """Receivers that mean the enclosing type."""
    members_in_scope: bool = False
    """A bare name may mean a member of the enclosing type (`foo()` for `this.foo()`)."""
    local_calls_only: bool = False
    """Every word is a call in a shell; only those to functions of the file say something."""
    retry_as: str = ""
    """The grammar to try when this one stumbles."""


_JAVASCRIPT = Rules(
    grammar="tree_sitter_javascript:language",
    symbols={
        "function_declaration": "function",
        "generator_function_declaration": "function",
        "class_declaration": "class",
        "method_definition": "method",
    },
    patterns="""
    (variable_declarator name: (identifier)
      value: [(arrow_function) (function_expression) (generator_function)]) @function
    (variable_declarator name: (identifier) value: (class)) @class
    (field_definition value: [(arrow_function) (function_expression)]) @method
    (pair key: (property_identifier) value: [(arrow_function) (function_expression)]) @method
    (assignment_expression left: (member_expression)
      right: [(arrow_function) (function_expression)]) @function
    (assignment_expression left: (member_expression) right: (class)) @class
    (call_expression function: [(identifier) (member_expression)] @_call)
    (new_expression constructor: [(identifier) (member_expression)] @_call)
    (import_statement source: (string) @_import)
    (export_statement source: (string) @_import)
    (call_expression function: (import) arguments: (arguments . (string) @_import))
    (call_expression function: (identifier) @_f arguments: (arguments . (string) @_import)
      (#eq? @_f "require"))
    (class_heritage [(identifier) (member_expression)] @_base)
    """,
    wrappers=("export_statement", "lexical_declaration", "variable_declaration", "expression_statement"),
    name_fields=("name", "property", "key", "left"),
    own=("this",),
)

_TYPESCRIPT = Rules(
    grammar="tree_sitter_typescript:language_typescript",
    symbols={
        **_JAVASCRIPT.symbols,
        "function_signature": "function",
        "abstract_class_declaration": "class",
        "abstract_method_signature": "method",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "type_alias_declaration": "type",
        "internal_module": "module",
        "module": "module",
    },
    patterns=_JAVASCRIPT.patterns.replace("(field_definition", "(public_field_definition").replace(
        "(class_heritage [(identifier) (member_expression)] @_base)",
        """
    (import_require_clause source: (string) @_import)
    (extends_clause value: (_) @_base)
    (implements_clause (_) @_base)
    (extends_type_clause type: (_) @_base)
    """,
    ),
    wrappers=(*_JAVASCRIPT.wrappers, "ambient_declaration"),
    name_fields=_JAVASCRIPT.name_fields,
    own=("this",),
)

_C_PATTERNS = """
    (struct_specifier name: (_) body: (_)) @struct
    (union_specifier name: (_) body: (_)) @union
    (enum_specifier name: (_) body: (_)) @enum
    (type_definition type: (struct_specifier !name body: (_)) declarator: (type_identifier)) @struct
    (type_definition type: (union_specifier !name body: (_)) declarator: (type_identifier)) @union
    (type_definition type: (enum_specifier !name body: (_)) declarator: (type_identifier)) @enum
    (call_expression function: [(identifier) (field_expression)] @_call)
    (preproc_include path: (_) @_import)
"""

RULES: dict[str, Rules] = {
    "python": Rules(
        grammar="tree_sitter_python:language",
        symbols={"function_definition": "function", "class_definition": "class"},
        patterns="""
        (call function: [(identifier) (attribute)] @_call)
        (import_statement name: (dotted_name) @_import)
        (import_statement name: (aliased_import name: (dotted_name) @_import))
        (import_from_statement module_name: (_) @_import)
        (class_definition superclasses: (argument_list [(identifier) (attribute)] @_base))
        (class_definition superclasses: (argument_list (subscript value: (_) @_base)))
        """,
        wrappers=("decorated_definition",),
        own=("self", "cls"),
    ),
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": Rules(
        grammar="tree_sitter_typescript:language_tsx",
        symbols=_TYPESCRIPT.symbols,
        patterns=_TYPESCRIPT.patterns,
        wrappers=_TYPESCRIPT.wrappers,
        name_fields=_TYPESCRIPT.name_fields,
        own=_TYPESCRIPT.own,
    ),
    "go": Rules(
        grammar="tree_sitter_go:language",
        symbols={
            "function_declaration": "function",
            "method_declaration": "method",
            "type_spec": "type",
            "type_alias": "type",
        },
        patterns="""
        (type_spec type: (struct_type)) @struct
        (type_spec type: (interface_type)) @interface
        (call_expression function: [(identifier) (selector_expression)] @_call)
        (import_spec path: (_) @_import)
        (field_declaration !name type: (_) @_base)
        (interface_type (type_elem [(type_identifier) (qualified_type)] @_base))
        """,
        wrappers=("type_declaration",),
        owner_field="receiver",
    ),
    "rust": Rules(
        grammar="tree_sitter_rust:language",
        symbols={
            "function_item": "function",
            "function_signature_item": "function",
            "struct_item": "struct",
            "enum_item": "enum",
            "union_item": "union",
            "trait_item": "trait",
            "impl_item": "impl",
            "type_item": "type",
            "macro_definition": "macro",
        },
        patterns="""
        (mod_item body: (_)) @module
        (mod_item !body name: (_) @_import)
        (call_expression function: [(identifier) (scoped_identifier) (field_expression)] @_call)
        (call_expression function: (generic_function function: (_) @_call))
        (macro_invocation macro: (_) @_call)
        (use_declaration argument: (_) @_import)
        (trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @_base))
        (impl_item trait: (_) @_base)
        """,
        comments=("line_comment", "block_comment"),
        attributes=("attribute_item",),
        name_fields=("name", "type"),
        separator="::",
        own=("self", "Self"),
    ),
    "java": Rules(
        grammar="tree_sitter_java:language",
        symbols={
            "class_declaration": "class",
            "interface_declaration": "interface",
            "annotation_type_declaration": "interface",
            "enum_declaration": "enum",
            "record_declaration": "record",
            "method_declaration": "method",
            "constructor_declaration": "method",
            "compact_constructor_declaration": "method",
        },
        patterns="""
        (method_invocation !object name: (identifier) @_call)
        (method_invocation object: (this) name: (identifier) @_call)
        (method_invocation object: (_) @_o name: (identifier) @_member (#not-eq? @_o "this"))
        (object_creation_expression type: (_) @_call)
        (import_declaration [(identifier) (scoped_identifier)] @_import)
        (superclass (_) @_base)
        (super_interfaces (type_list (_) @_base))
        (extends_interfaces (type_list (_) @_base))
        """,
        comments=("line_comment", "block_comment"),
        own=("this",),
        members_in_scope=True,
    ),
    "c": Rules(
        grammar="tree_sitter_c:language",
        symbols={"function_definition": "function", "preproc_function_def": "macro"},
        patterns=_C_PATTERNS,
        name_fields=("name", "declarator"),
        retry_as="cpp",
    ),
    "cpp": Rules(
        grammar="tree_sitter_cpp:language",
        symbols={
            "function_definition": "function",
            "preproc_function_def": "macro",
            "namespace_definition": "module",
            "alias_declaration": "type",
            "concept_definition": "type",
        },
        patterns=_C_PATTERNS
        + """
        (class_specifier name: (_) body: (_)) @class
        (call_expression function: [(qualified_identifier) (template_function)] @_call)
        (new_expression type: (_) @_call)
        (using_declaration [(identifier) (qualified_identifier)] @_import)
        (base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @_base)
        """,
        wrappers=("template_declaration",),
        name_fields=("name", "declarator"),
        separator="::",
        own=("this",),
        members_in_scope=True,
    ),
    "csharp": Rules(
        grammar="tree_sitter_c_sharp:language",
        symbols={
            "class_declaration": "class",
            "interface_declaration": "interface",
            "struct_declaration": "struct",
            "enum_declaration": "enum",
            "record_declaration": "record",
            "method_declaration": "method",
            "constructor_declaration": "method",
            "destructor_declaration": "method",
            "operator_declaration": "method",
            "local_function_statement": "function",
            "delegate_declaration": "type",
            "namespace_declaration": "module",
        },
        patterns="""
        (invocation_expression function: [(identifier) (generic_name) (member_access_expression)] @_call)
        (object_creation_expression type: (_) @_call)
        (using_directive (qualified_name) @_import)
        (using_directive !name (identifier) @_import)
        (base_list [(identifier) (generic_name) (qualified_name)] @_base)
        """,
        name_fields=("name", "operator"),
        own=("this",),
        members_in_scope=True,
    ),
    "ruby": Rules(
        grammar="tree_sitter_ruby:language",
        symbols={"module": "module", "class": "class", "method": "method", "singleton_method": "method"},
        patterns="""
        (call !receiver method: (identifier) @_call)
        (call receiver: (self) method: (identifier) @_call)
        (call receiver: (_) @_o method: (identifier) @_member (#not-eq? @_o "self"))
        (call !receiver method: (identifier) @_f arguments: (argument_list . (string) @_import)
          (#any-of? @_f "require" "require_relative" "load"))
        (superclass (_) @_base)
        (call !receiver method: (identifier) @_f
          arguments: (argument_list [(constant) (scope_resolution)] @_base)
          (#any-of? @_f "include" "extend" "prepend"))
        """,
        separator="::",
        own=("self",),
        members_in_scope=True,
    ),
    "php": Rules(
        grammar="tree_sitter_php:language_php",
        symbols={
            "function_definition": "function",
            "method_declaration": "method",
            "class_declaration": "class",
            "interface_declaration": "interface",
            "trait_declaration": "trait",
            "enum_declaration": "enum",
        },
        patterns="""
        (function_call_expression function: [(name) (qualified_name)] @_call)
        (member_call_expression object: (variable_name) @_o name: (name) @_call (#eq? @_o "$this"))
        (member_call_expression object: (_) @_o name: (name) @_member (#not-eq? @_o "$this"))
        (nullsafe_member_call_expression name: (name) @_member)
        (scoped_call_expression scope: (relative_scope) @_o name: (name) @_call (#not-eq? @_o "parent"))
        (scoped_call_expression scope: (name) name: (name) @_member)
        (object_creation_expression [(name) (qualified_name)] @_call)
        (namespace_use_clause . [(name) (qualified_name)] @_import)
        (namespace_use_declaration (namespace_name) @_import)
        (require_expression (string) @_import)
        (require_once_expression (string) @_import)
        (include_expression (string) @_import)
        (include_once_expression (string) @_import)
        (base_clause (_) @_base)
        (class_interface_clause (_) @_base)
        (use_declaration [(name) (qualified_name)] @_base)
        """,
        separator="::",
        members_in_scope=True,
    ),
    "bash": Rules(
        grammar="tree_sitter_bash:language",
        symbols={"function_definition": "function"},
        patterns="""
        (command name: (command_name (word) @_call))
        (command name: (command_name (word) @_f) . argument: (word) @_import (#any-of? @_f "source" "."))
        """,
        local_calls_only=True,
    ),
}
