/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/sym_name.h"

#include <string.h>

#include "unit/tap.h"

static void check_span(const char *text, const char *stops, const char *name)
{
	size_t n = sym_name_span(text, stops);

	CHECK(n == strlen(name) && !memcmp(text, name, n), "'%s' up to one of '%s': '%.*s'", text,
	      stops, (int)n, text);
}

static void test_spans(void)
{
	check_span("main", ":,", "main");
	check_span("main,exit", ",", "main");
	check_span("a::f:u", ":,", "a::f");
	check_span("a::f(int, long),b", ",", "a::f(int, long)");
	check_span("a::h<int, a::S<long> >,b", ",", "a::h<int, a::S<long> >");
	check_span("a::f(int)+4", "+:,", "a::f(int)");
	check_span("f+0x10:k", "+:,", "f");
	check_span("a::operator+(a::S const&)+4", "+:,", "a::operator+(a::S const&)");
	check_span("a::operator<,b", ",", "a::operator<");
	check_span("a::operator<<(int),b", ",", "a::operator<<(int)");
	check_span("a::operator()(int, int) const,b", ",", "a::operator()(int, int) const");
	check_span("a::operator,(int),b", ",", "a::operator,(int)");
	check_span("a::operator int() const b", " ,", "a::operator int() const");
	check_span("a::operator unsigned long, b", " ,", "a::operator unsigned long");
	check_span("a::operator b::c* @ /bin/x", " @", "a::operator b::c*");
	check_span("operator new[](unsigned long) b", " ,", "operator new[](unsigned long)");
	check_span("operator delete /bin/x", " /", "operator delete");
	check_span("a::f() const @ /bin/x", " @", "a::f() const");
	check_span("main @ /bin/x", " @", "main");
	check_span("a::f()::{lambda(int, int)#1}::operator()(int),b", ",",
		   "a::f()::{lambda(int, int)#1}::operator()(int)");
	check_span("c::f::{{closure}}:u}", ":,{}", "c::f::{{closure}}");
	check_span("a::f}:u", ":,{}", "a::f");
	check_span("<T as c::Trait>::f,b", ", ", "<T as c::Trait>::f");
	check_span("(anonymous namespace)::f b", " ", "(anonymous namespace)::f");
	check_span("f(((", ",", "f(((");
	check_span("f)))>>,b", ",", "f)))>>");
	check_span("", ",", "");
}

static bool is(const char *shown, const char *link_name, const char *asked)
{
	return sym_name_is(shown, link_name, asked, strlen(asked));
}

static void test_names(void)
{
	static const char link[] = "_ZN1a1fEi", h[] = "_ZN1a1hIilEET_S1_T0_";

	CHECK(is("a::f", link, "a::f") && is("a::f", link, link) && is("a::f", link, "a::f(int)") &&
		      is("a::f", link, "a::f( int )"),
	      "each of its names");
	CHECK(!is("a::f", link, "a::f(long)") && !is("a::f", link, "a::f(") &&
		      !is("a::f", link, "f") && !is("a::f", link, "a::ff(int)") &&
		      !is("a::f", link, ""),
	      "and no other");
	CHECK(is("a::h<int, long>", h, "a::h<int,long>") &&
		      is("a::h<int, long>", h, "a::h<int, long>(int, long)") &&
		      is("a::h<int, long>", h, "int a::h<int, long>(int, long)"),
	      "a template's, with the type of its result or without");
	CHECK(is("_ZN1a1fEi", link, link) && is("_ZN1a1fEi", link, "_ZN1a1fEi"),
	      "where nothing is demangled, the linked name");
	CHECK(is("main", "main", "main") && !is("main", "main", "main()"), "names of C");
}

int main(void)
{
	test_spans();
	test_names();
	return tap_done();
}
