"""One small file in each language, with what is in it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """What is expected is written one a line."""

    text: str
    symbols: str
    """Kind and qualified name, in the order of the file."""
    relations: str
    """Some of them; a name that ends in a question mark is none of this file."""
    never: str = ""
    """What no relation may contain."""


PYTHON = Sample(
    '''\
import os.path as p, sys
from typing import Generic
from . import sibling

class Shape(Base, abc.ABC, Generic[T], metaclass=Meta):
    size = helper()

    # Says how big.
    @property
    def area(self, scale: float = 1.0) -> float:
        """The area,

        scaled."""
        self.check()
        return os.path.join(helper(), make()[0].run())

    def check(self): area()

if True:
    async def fetch(url: str):
        def inner():
            return (lambda: helper())()
        return inner()
else:
    def fetch(): pass

def helper[T](x: T) -> T: return Shape()
''',
    """\
class Shape
method Shape.area
method Shape.check
function fetch
function fetch.inner
function fetch
function helper
""",
    """\
file IMPORTS os.path?
file IMPORTS sys?
file IMPORTS typing?
file IMPORTS .?
Shape INHERITS Base?
Shape INHERITS abc.ABC?
Shape INHERITS Generic?
Shape CALLS helper
Shape.area CALLS Shape.check
Shape.area CALLS os.path.join?
Shape.area CALLS run?
Shape.check CALLS area?
helper CALLS Shape
fetch CALLS fetch.inner
fetch.inner CALLS helper
file DEFINES Shape
Shape DEFINES Shape.area
""",
    """\
INHERITS Meta
""",
)


JAVASCRIPT = Sample(
    """\
import fs, { x as y } from "fs";
const z = require('./z');
export * from './w';
/**
 * A shape.
 */
export class Shape extends Base {
  static make = () => new Shape();
  area(scale) { this.check(); return lib.math.mul(scale); }
  get #size() { return build().run(); }
  check() {}
}
export default function main(a) { helper(); }
const twice = (x) => { main(x); };
exports.handler = async function () {};
function* count() {}
const table = { run() {}, stop: function () {} };
const load = () => import("./later");
function View() { return <Shape size={1} />; }
""",
    """\
class Shape
method Shape.make
method Shape.area
method Shape.#size
method Shape.check
function main
function twice
function exports.handler
function count
method run
method stop
function load
function View
""",
    """\
file IMPORTS fs?
file IMPORTS ./z?
file IMPORTS ./w?
load IMPORTS ./later?
Shape INHERITS Base?
Shape.area CALLS Shape.check
Shape.area CALLS lib.math.mul?
Shape.#size CALLS run?
Shape.make CALLS Shape
main CALLS helper?
twice CALLS main
""",
)


TYPESCRIPT = Sample(
    """\
import type { T } from "./t";
import q = require("q");
// Has a name.
export interface Named extends Base, Other<string> { name(): void }
abstract class Shape<T> extends Thing<T> implements Named {
  handler = () => this.name();
  constructor(private size: number) { super(); }
  abstract area(): number;
  name(): void {}
}
export type Alias = { a: string };
enum Color { Red }
namespace Geometry.Plane { export function inner(): void {} }
declare function outer(x: number): void;
export const generic = <T,>(x: T): T => x;
""",
    """\
interface Named
class Shape
method Shape.handler
method Shape.constructor
method Shape.area
method Shape.name
type Alias
enum Color
module Geometry.Plane
function Geometry.Plane.inner
function outer
function generic
""",
    """\
file IMPORTS ./t?
file IMPORTS q?
Named INHERITS Base?
Named INHERITS Other?
Shape INHERITS Thing?
Shape INHERITS Named
Shape.handler CALLS Shape.name
""",
)


GO = Sample(
    """\
package main

import (
	"fmt"
	m "math/rand"
)

// Shape is a shape.
type Shape[T any] struct {
	Base
	*pkg.Other
	x int
}

type Named interface {
	io.Reader
	Name() string
}

type (
	Handler func(int) int
	Alias   = Shape
)

// Area is scaled.
func (s *Shape[T]) Area(scale float64) float64 {
	fmt.Println(scale)
	go helper()
	return 0
}

func helper() { f := func() { other() }; f() }
""",
    """\
struct Shape
interface Named
type Handler
type Alias
method Shape.Area
function helper
""",
    """\
file IMPORTS fmt?
file IMPORTS math/rand?
Shape INHERITS Base?
Shape INHERITS pkg.Other?
Named INHERITS io.Reader?
Shape.Area CALLS fmt.Println?
Shape.Area CALLS helper
helper CALLS other?
""",
)


RUST = Sample(
    """\
use std::collections::{HashMap, HashSet};
use foo::bar as baz;
mod other;
mod inner { pub fn f() {} }

/// A shape.
#[derive(Debug)]
pub struct Shape<T> { x: T }
enum Color { Red }
union Raw { a: u8 }
trait Named: Base + fmt::Debug { fn name(&self); fn full(&self) { self.name() } }
impl<T> fmt::Display for Shape<T> {
    fn fmt(&self) -> Res { write!(f, ""); Self::new(); a::b(); parse::<u8>(); Ok(()) }
}
impl Shape<u8> { pub const fn new() -> Self { inner::f(); Shape { x: 1 } } }
macro_rules! shape { () => {} }
type Alias = u8;
""",
    """\
module inner
function inner::f
struct Shape
enum Color
union Raw
trait Named
method Named::name
method Named::full
impl Shape
method Shape::fmt
impl Shape
method Shape::new
macro shape
type Alias
""",
    """\
file IMPORTS std::collections?
file IMPORTS foo::bar?
file IMPORTS other?
Named INHERITS Base?
Named INHERITS fmt::Debug?
Shape INHERITS fmt::Display?
Named::full CALLS Named::name
Shape::fmt CALLS Shape::new
Shape::fmt CALLS a::b?
Shape::fmt CALLS parse?
Shape::fmt CALLS write?
Shape::new CALLS inner::f
""",
)


JAVA = Sample(
    """\
package geometry;
import java.util.List;
import static a.b.C.*;

/** A shape. */
@Deprecated
public class Shape<T> extends Base<T> implements Named, other.Thing {
  Shape(int x) { super(x); this.check(); }

  /** The area. */
  @Override public double area(double scale) throws Bad { check(); list.get().run(); return new Square<>(); }
  void check() {}
  interface Inner extends Named { void x(); }
  enum Color implements Named { RED { void y() {} }; }
  record Point(int a) { Point { } }
  @interface Mark { }
}
""",
    """\
class Shape
method Shape.Shape
method Shape.area
method Shape.check
interface Shape.Inner
method Shape.Inner.x
enum Shape.Color
method Shape.Color.y
record Shape.Point
method Shape.Point.Point
interface Shape.Mark
""",
    """\
file IMPORTS java.util.List?
file IMPORTS a.b.C?
Shape INHERITS Base?
Shape INHERITS Named?
Shape INHERITS other.Thing?
Shape.Shape CALLS Shape.check
Shape.area CALLS Shape.check
Shape.area CALLS get?
Shape.area CALLS run?
Shape.area CALLS Square?
""",
    """\
*
""",
)


C = Sample(
    """\
#include <stdio.h>
#include "shape.h"
#define MAX(a, b) ((a) > (b) ? (a) : (b))

struct shape { int x; };
typedef struct { int a; } point;
typedef enum color { RED } color_t;
union raw { int a; };

/* The area. */
static double *area(struct shape *s, int scale) { helper(s); s->draw(1); return 0; }
int (*getter(void))(int) { return area(0, 1); }
int prototype(int);
""",
    """\
macro MAX
struct shape
struct point
enum color
union raw
function area
function getter
""",
    """\
file IMPORTS stdio.h?
file IMPORTS shape.h?
area CALLS helper?
getter CALLS area
""",
)


CPP = Sample(
    """\
#include <vector>
using namespace std;
namespace geometry::plane {
template <typename T> class Shape : public Base, virtual private other::Thing<T> {
 public:
  Shape(int x) : a(x) {}
  ~Shape() = default;
  int operator+(const Shape& o) const { return helper(); }
  template <class U> U area() { this->check(); check(); other::run(); return new Square(); }
  void check() {}
};
}
void geometry::plane::Shape<int>::later() {}
enum class Color { Red };
struct Plain { int x; };
template <> int special<int>(int a) { return 1; }
extern "C" { int exported() { return 1; } }
using Alias = int;
""",
    """\
module geometry::plane
class geometry::plane::Shape
method geometry::plane::Shape::Shape
method geometry::plane::Shape::~Shape
method geometry::plane::Shape::operator+
method geometry::plane::Shape::area
method geometry::plane::Shape::check
function geometry::plane::Shape::later
enum Color
struct Plain
function special
function exported
type Alias
""",
    """\
file IMPORTS vector?
file IMPORTS std?
geometry::plane::Shape INHERITS Base?
geometry::plane::Shape INHERITS other::Thing?
geometry::plane::Shape::area CALLS geometry::plane::Shape::check
geometry::plane::Shape::area CALLS other::run?
geometry::plane::Shape::area CALLS Square?
""",
)


CSHARP = Sample(
    """\
using System;
using Short = Long.Name;
namespace Geometry {
  /// <summary>A shape.</summary>
  [Serializable] public partial class Shape<T> : Base<T>, Named where T : new() {
    public Shape(int x) : base(x) { }
    public int Size { get; set; }
    public async Task<double> Area<T>(int scale) {
      Check(); this.Check(); a.b.C(); new Square(); int Local() { return 1; }
      return Local();
    }
    public static Shape operator +(Shape a, Shape b) => a;
    void Check() { }
    delegate void Done(int x);
  }
  interface Named : Other { void Name(); }
  struct Point { }
  enum Color { Red }
  record Pair(int A) : Named;
}
""",
    """\
module Geometry
class Geometry.Shape
method Geometry.Shape.Shape
method Geometry.Shape.Area
function Geometry.Shape.Area.Local
method Geometry.Shape.+
method Geometry.Shape.Check
type Geometry.Shape.Done
interface Geometry.Named
method Geometry.Named.Name
struct Geometry.Point
enum Geometry.Color
record Geometry.Pair
""",
    """\
file IMPORTS System?
file IMPORTS Long.Name?
Geometry.Shape INHERITS Base?
Geometry.Shape INHERITS Geometry.Named
Geometry.Named INHERITS Other?
Geometry.Shape.Area CALLS Geometry.Shape.Check
Geometry.Shape.Area CALLS a.b.C?
Geometry.Shape.Area CALLS Square?
Geometry.Shape.Area CALLS Geometry.Shape.Area.Local
""",
    """\
IMPORTS Short
""",
)


RUBY = Sample(
    """\
require 'json'
require_relative "x/y"
module Geometry
  # A shape.
  class Shape < Base::Thing
    include Comparable
    def initialize(x); check(x); end
    def self.make; self.build; list.first.run(1); end
    def check(x) = x
    class << self
      def build; end
    end
  end
end
class Other::Inner; end
def top; end
""",
    """\
module Geometry
class Geometry::Shape
method Geometry::Shape::initialize
method Geometry::Shape::make
method Geometry::Shape::check
method Geometry::Shape::build
class Other::Inner
method top
""",
    """\
file IMPORTS json?
file IMPORTS x/y?
Geometry::Shape INHERITS Base::Thing?
Geometry::Shape INHERITS Comparable?
Geometry::Shape::initialize CALLS Geometry::Shape::check
Geometry::Shape::make CALLS Geometry::Shape::build
Geometry::Shape::make CALLS run?
""",
)


PHP = Sample(
    """\
<?php
namespace Geometry;
use Other\\Thing;
use Many\\{First, Second as Two};
require_once 'x.php';
/** A shape. */
abstract class Shape extends Base implements Named {
  use Scaled;
  public function __construct(private int $x) { parent::__construct(); $this->check(); self::make(); helper(); }
  function check() { $a?->run(); $b->go(); return new Square(); }
  static function make() {}
  abstract function area();
}
interface Named extends Other { function name(); }
trait Scaled { function scale() {} }
enum Color: string implements Named { case Red = 'r'; }
function helper(int $a): int { $f = fn($x) => $x; return 1; }
""",
    """\
class Shape
method Shape::__construct
method Shape::check
method Shape::make
method Shape::area
interface Named
method Named::name
trait Scaled
method Scaled::scale
enum Color
function helper
""",
    """\
file IMPORTS Other\\Thing?
file IMPORTS First?
file IMPORTS x.php?
Shape INHERITS Base?
Shape INHERITS Named
Shape INHERITS Scaled
Shape::__construct CALLS Shape::check
Shape::__construct CALLS Shape::make
Shape::__construct CALLS helper
Shape::check CALLS run?
Shape::check CALLS go?
Shape::check CALLS Square?
""",
    """\
IMPORTS Two
CALLS Shape::__construct
""",
)


BASH = Sample(
    """\
#!/bin/bash
source ./lib.sh
. other.sh

# Prints the area.
area() {
  echo "$1"
  helper "$(other)"
}

function helper {
  area
}
""",
    """\
function area
function helper
""",
    """\
file IMPORTS ./lib.sh?
file IMPORTS other.sh?
area CALLS helper
helper CALLS area
""",
    """\
CALLS echo
CALLS source
""",
)


SAMPLES = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": Sample(
        TYPESCRIPT.text + "const View = () => <Shape size={1} />;\n",
        TYPESCRIPT.symbols + "function View\n",
        TYPESCRIPT.relations,
    ),
    "go": GO,
    "rust": RUST,
    "java": JAVA,
    "c": C,
    "cpp": CPP,
    "csharp": CSHARP,
    "ruby": RUBY,
    "php": PHP,
    "bash": BASH,
}
