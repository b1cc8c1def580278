import type { FunctionCall, Json } from './types.js'

/** C++ exceptions are not there: throwing one ends the program. */
export const EXCEPTIONS_STUB = `
void *__cxa_allocate_exception(unsigned long size) { __builtin_trap(); }
void __cxa_throw(void *thrown, void *type, void (*destroy)(void *)) { __builtin_trap(); }
`

const VALUE = `__attribute__((import_module("harness"), import_name("value"))) void harness_value(const char *, unsigned long);`

const C_HARNESS = String.raw`
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
${VALUE}
static void harness_whole(long long x) {
  char s[40];
  int n = snprintf(s, sizeof s, x > 9007199254740991 || x < -9007199254740991 ? "\"%lld\"" : "%lld", x);
  harness_value(s, n);
}
static void harness_natural(unsigned long long x) {
  char s[40];
  int n = snprintf(s, sizeof s, x > 9007199254740991 ? "\"%llu\"" : "%llu", x);
  harness_value(s, n);
}
static void harness_real(double x) {
  char s[40];
  int n = snprintf(s, sizeof s, x - x == 0 ? "%.17g" : "null", x);
  harness_value(s, n);
}
static void harness_truth(bool x) { x ? harness_value("true", 4) : harness_value("false", 5); }
static void harness_text(const char *x) {
  if (!x) { harness_value("null", 4); return; }
  size_t n = 0;
  char *s = malloc(6 * strlen(x) + 3);
  s[n++] = '"';
  for (; *x; x++) {
    unsigned char c = *x;
    if (c < 32 || c == '"' || c == '\\') n += sprintf(s + n, "\\u%04x", c);
    else s[n++] = c;
  }
  s[n++] = '"';
  harness_value(s, n);
}
static void harness_letter(char x) { char s[2] = { x, 0 }; harness_text(s); }
#define HARNESS_PUT(x) _Generic((x), bool: harness_truth, char: harness_letter, char *: harness_text, \
  const char *: harness_text, float: harness_real, double: harness_real, long double: harness_real, \
  unsigned long long: harness_natural, default: harness_whole)(x)
`

const CPP_HARNESS = String.raw`
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
extern "C" ${VALUE}
namespace harness {
struct text {
  const char *s;
  operator std::string() const { return s; }
  operator const char *() const { return s; }
  operator char() const { return *s; }
};
template <class R, class... A> std::tuple<std::decay_t<A>...> parameters(R (*)(A...));
template <class R, class... A> R returned(R (*)(A...));
template <class T> struct is_pair : std::false_type {};
template <class A, class B> struct is_pair<std::pair<A, B>> : std::true_type {};
template <class... A> struct is_pair<std::tuple<A...>> : std::true_type {};
template <class T, class = void> struct has_key : std::false_type {};
template <class T> struct has_key<T, std::void_t<typename T::mapped_type>> : std::true_type {};
template <class T> struct is_optional : std::false_type {};
template <class T> struct is_optional<std::optional<T>> : std::true_type {};
inline void put(std::string &out, const std::string &x) {
  out += '"';
  for (unsigned char c : x) {
    char s[8];
    if (c < 32 || c == '"' || c == '\\') { std::snprintf(s, sizeof s, "\\u%04x", c); out += s; }
    else out += (char)c;
  }
  out += '"';
}
template <class T> void put(std::string &out, const T &x) {
  char s[48];
  if constexpr (std::is_same_v<T, bool>) out += x ? "true" : "false";
  else if constexpr (std::is_same_v<T, char>) put(out, std::string(1, x));
  else if constexpr (std::is_enum_v<T>) put(out, (long long)x);
  else if constexpr (std::is_floating_point_v<T>) {
    std::snprintf(s, sizeof s, std::isfinite((double)x) ? "%.17g" : "null", (double)x);
    out += s;
  } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
    unsigned long long n = x;
    std::snprintf(s, sizeof s, n > 9007199254740991ull ? "\"%llu\"" : "%llu", n);
    out += s;
  } else if constexpr (std::is_integral_v<T>) {
    long long n = x;
    std::snprintf(s, sizeof s, n > 9007199254740991 || n < -9007199254740991 ? "\"%lld\"" : "%lld", n);
    out += s;
  } else if constexpr (std::is_convertible_v<T, std::string>) put(out, std::string(x));
  else if constexpr (is_optional<T>::value) { if (x) put(out, *x); else out += "null"; }
  else if constexpr (is_pair<T>::value) {
    out += '[';
    bool first = true;
    std::apply([&](const auto &...one) { ((first ? void() : void(out += ','), first = false, put(out, one)), ...); }, x);
    out += ']';
  } else if constexpr (has_key<T>::value) {
    out += '{';
    bool first = true;
    for (const auto &[key, value] : x) {
      if (!first) out += ',';
      first = false;
      std::string name;
      put(name, key);
      if (name[0] == '"') out += name;
      else put(out, name);
      out += ':';
      put(out, value);
    }
    out += '}';
  } else {
    out += '[';
    bool first = true;
    for (const auto &one : x) {
      if (!first) out += ',';
      first = false;
      using one_type = std::decay_t<decltype(one)>;
      put<>(out, (one_type)one);
    }
    out += ']';
  }
}
template <class T> void give(const T &x) {
  std::string out;
  put(out, x);
  harness_value(out.data(), out.size());
}
}
`

/** A name that C can call; others are no functions of a program. */
const NAME = /^[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*$/

/**
 * What is added to a program so that its function is called: its own `main` is renamed and does not run. C takes numbers,
 * truth, texts and lists of one kind; C++ whatever its parameters can be made of in braces. A function that returns nothing
 * gives its first argument.
 */
export function callHarness({ name, arguments: given }: FunctionCall, language: 'c' | 'cpp'): string {
  const called = name.replaceAll('.', '::')
  if (!NAME.test(called) || (language === 'c' && called.includes('::')))
    return `\n#error "${language} has no functions of this name"\n`
  const head = '\n#undef main\n#line 1 "harness"\n'
  if (language === 'c')
    return `${C_HARNESS}${head}int main(void) { __auto_type r = ${called}(${given.map(cLiteral).join(', ')}); HARNESS_PUT(r); return 0; }\n`
  const types = `decltype(harness::parameters(&${called}))`
  const declared = given.map((value, i) => `std::tuple_element_t<${i}, ${types}> a${i} = ${cppLiteral(value)};`)
  const call = `${called}(${given.map((_, i) => `a${i}`).join(', ')})`
  const nothing = given.length > 0 ? `${call}; harness::give(a0);` : `${call}; harness_value("null", 4);`
  const branch = `if constexpr (std::is_void_v<decltype(harness::returned(&${called}))>) { ${nothing} } else harness::give(${call});`
  // A template, so that only the branch that fits is compiled.
  return `${CPP_HARNESS}${head}template <int> void harness_run() { ${declared.join(' ')} ${branch} }\nint main() { harness_run<0>(); return 0; }\n`
}

function number(value: number): string {
  if (Number.isInteger(value)) return Math.abs(value) > 2147483647 ? `${BigInt(value)}LL` : String(value)
  return String(value)
}

function quoted(text: string): string {
  const bytes = [...Buffer.from(text)].map((byte) =>
    byte < 32 || byte > 126 || '"\\?'.includes(String.fromCharCode(byte))
      ? `\\${byte.toString(8).padStart(3, '0')}`
      : String.fromCharCode(byte),
  )
  return `"${bytes.join('')}"`
}

function cLiteral(value: Json): string {
  if (value === null) return '0'
  if (typeof value === 'boolean') return value ? '(_Bool)1' : '(_Bool)0'
  if (typeof value === 'number') return number(value)
  if (typeof value === 'string') return `(char[]){${quoted(value)}}`
  const items = Array.isArray(value) ? (value as Json[]) : Object.values(value)
  if (items.length === 0) return '(int[1]){0}'
  if (items.every((item) => typeof item === 'string')) return `(char *[]){${items.map(cLiteral).join(', ')}}`
  const whole = items.every((item) => typeof item === 'number' && Number.isInteger(item))
  const long = items.some((item) => typeof item === 'number' && Math.abs(item) > 2147483647)
  return `(${whole ? (long ? 'long long' : 'int') : 'double'}[]){${items.map(cLiteral).join(', ')}}`
}

function cppLiteral(value: Json): string {
  if (value === null) return '{}'
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return number(value)
  if (typeof value === 'string') return `harness::text{${quoted(value)}}`
  if (Array.isArray(value)) return `{${(value as Json[]).map(cppLiteral).join(', ')}}`
  const entries = Object.entries(value as Record<string, Json>)
  return `{${entries.map(([key, one]) => `{${cppLiteral(key)}, ${cppLiteral(one)}}`).join(', ')}}`
}
