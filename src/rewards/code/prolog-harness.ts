/**
 * Prolog that stands between the child and the program. `run` loads the program, runs its main goal, then answers the request, and
 * leaves `verdict(V)`, `detail(D)` and `value(Json)` in a file.
 */
export const PROLOG_HARNESS =
  String.raw`
:- module(myriad_harness, []).
:- dynamic wrong/1, syntax/0.
:- multifile user:message_hook/3, user:term_expansion/2.
:- dynamic user:message_hook/3, user:term_expansion/2.

user:message_hook(Term, error, Lines) :-
    ( myriad_harness:wrong(_) -> true
    ; catch(myriad_harness:note(Term, Lines), _, true) ),
    fail.

note(Term, Lines) :-
    ( Term = error(syntax_error(_), _) -> assertz(syntax) ; true ),
    with_output_to(string(Text), ( current_output(S), print_message_lines(S, '', Lines) )),
    split_string(Text, "", " \n\t", [Trimmed]),
    assertz(wrong(Trimmed)).

user:term_expansion((:- initialization(Goal, main)), (:- initialization(myriad_harness:main(Goal)))).

run :-
    prompt(_, ''),
    catch(( work, Halt = none ), Error, failed(Error, Halt)),
    catch(( flush_output(user_output), flush_output(user_error) ), _, true),
    verdict(Halt, Verdict, Detail),
    ( nb_current(myriad_value, Value) -> true ; Value = "" ),
    setup_call_cleanup(open('/run/answer', write, Out, [encoding(utf8)]),
        format(Out, "~w~n~w~n~w", [Verdict, Detail, Value]), close(Out)).

failed(unwind(halt(Status0)), Status) :- !, Status is Status0 /\ 255.
failed(Error, failed(Text)) :-
    catch(message_to_codes(Error, Text), _, Text = "an error that cannot be shown"),
    catch(format(user_error, "~w~n", [Text]), _, true),
    ( memory(Error) -> nb_setval(myriad_memory, true) ; true ).

memory(error(resource_error(_), _)).

message_to_codes(Error, Text) :-
    message_to_lines(Error, Lines),
    with_output_to(string(Full), ( current_output(S), print_message_lines(S, '', Lines) )),
    split_string(Full, "\n", " ", [Text|_]).

message_to_lines(Error, Lines) :- phrase(prolog:translate_message(Error), Lines0), !, Lines = Lines0.
message_to_lines(Error, ['~p'-[Error]]).

verdict(_, 'memory-limit', "the stack limit") :- nb_current(myriad_memory, true), !.
verdict(none, 'compile-error', Text) :- syntax, wrong(Text), !.
verdict(failed(Text), 'runtime-error', Text) :- !.
verdict(Status, 'runtime-error', Text) :-
    integer(Status), Status =\= 0, !, format(string(Text), "exit code ~w", [Status]).
verdict(0, 'runtime-error', "the program ended before its goal was asked") :- nb_current(myriad_call, true), !.
verdict(none, 'runtime-error', Text) :- \+ nb_current(myriad_value, _), wrong(Text), !.
verdict(_, ok, "").

work :-
    load_files(user:'/run/program.pl', [silent(true), encoding(utf8)]),
    ( nb_current(myriad_compile, true) -> true
    ; syntax -> true
    ; answer ).

main(Goal) :- ( user:Goal -> true ; throw(error(failed_goal(Goal), _)) ).

answer :-
    exists_file('/run/goal'), !,
    nb_setval(myriad_call, true),
    read_file_to_string('/run/goal', Text, [encoding(utf8)]),
    term_string(ask(Kind, Goal), Text, [variable_names(Names0), module(user)]),
    exclude(hidden, Names0, Names),
    ( Kind = one(Result) ->
        ( user:Goal -> json(Result, Json) ; throw(error(no_solution, _)) )
    ; Kind = all(Most) ->
        findall(Object, limit(Most, ( user:Goal, bindings(Names, Object) )), Objects),
        atomic_list_concat(Objects, ',', Inner), format(string(Json), "[~w]", [Inner]) ),
    nb_setval(myriad_value, Json).
answer.

hidden(Name=_) :- sub_atom(Name, 0, 1, _, '_').

bindings(Names, Object) :-
    findall(Pair, ( member(Name=Value, Names), json(Value, Json), format(string(Pair), "\"~w\":~w", [Name, Json]) ), Pairs),
    atomic_list_concat(Pairs, ',', Inner), format(atom(Object), "{~w}", [Inner]).

json(Value, "null") :- var(Value), !.
json(Value, Json) :- integer(Value), !,
    ( abs(Value) =< 9007199254740991 -> format(string(Json), "~d", [Value]) ; format(string(Json), "\"~d\"", [Value]) ).
json(Value, Json) :- float(Value), !,
    ( Value =:= Value, abs(Value) < inf -> format(string(Json), "~15g", [Value]), true ; Json = "null" ).
json([], "[]") :- !.
json(true, "true") :- !.
json(false, "false") :- !.
json(null, "null") :- !.
json(Value, Json) :- is_list(Value), !,
    findall(One, ( member(X, Value), json(X, One) ), Ones),
    atomic_list_concat(Ones, ',', Inner), format(string(Json), "[~w]", [Inner]).
json(Value, Json) :- ( atom(Value) ; string(Value) ), !, quoted(Value, Json).
json(Value, Json) :- format(string(Text), "~q", [Value]), quoted(Text, Json).

quoted(Value, Json) :-
    string_codes(Value, Codes),
    findall(Part, ( member(Code, Codes), escaped(Code, Part) ), Parts),
    atomic_list_concat(Parts, Inner), format(string(Json), "\"~w\"", [Inner]).

escaped(Code, Part) :- ( Code < 32 ; Code =:= 34 ; Code =:= 92 ), !, format(atom(Part), "\\u~|~` +
  '`0' +
  String.raw`t~16r~4+", [Code]).
escaped(Code, Part) :- char_code(Part, Code).
`
