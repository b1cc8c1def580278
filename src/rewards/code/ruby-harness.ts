/**
 * Ruby that stands between the child and the program: it runs before the snapshot is taken. `run` gives JSON: verdict, detail, and
 * the value of a call. What it uses of Ruby's classes it takes before the program can change them.
 */
export const RUBY_HARNESS = String.raw`
require 'json'
require 'set'
module MyriadHarness
  LAST = []
  PARSE = JSON.method(:parse)
  GENERATE = JSON.method(:generate)
  COMPILE = RubyVM::InstructionSequence.method(:compile)
  MAIN = TOPLEVEL_BINDING

  def self.shown(error)
    error.full_message(highlight: false, order: :top).scrub
  rescue Exception
    'an error that cannot be shown'
  end

  def self.plain(value, depth = 0)
    raise ArgumentError, 'a value nested too deeply' if depth > 100
    case value
    when nil, true, false then value
    when Integer then value.abs > 9007199254740991 ? value.to_s : value
    when Float then value.finite? ? value : nil
    when Rational then value.denominator == 1 ? plain(value.numerator) : value.to_f
    when String then value.dup.force_encoding('UTF-8').scrub
    when Symbol then value.to_s
    when Hash then value.to_h { |key, one| [key.to_s, plain(one, depth + 1)] }
    when Array then value.map { |one| plain(one, depth + 1) }
    when Struct then plain(value.to_h, depth + 1)
    when Enumerable then value.to_a.map { |one| plain(one, depth + 1) }
    else raise TypeError, "a #{value.class} has no JSON"
    end
  end

  def self.called(name, given)
    *path, method = name.split('.')
    receiver = MAIN.receiver
    path.each { |one| receiver = receiver.equal?(MAIN.receiver) ? Object.const_get(one) : receiver.public_send(one) }
    receiver.__send__(method, *given)
  end

  def self.run(source, name, given, compile_only)
    answer = { 'verdict' => 'ok', 'detail' => '' }
    begin
      source = source.force_encoding('UTF-8')
      begin
        COMPILE.call(source, 'program.rb', 'program.rb')
      rescue SyntaxError => error
        STDERR.write(error.message.scrub, "\n")
        return GENERATE.call({ 'verdict' => 'compile-error', 'detail' => error.message.scrub.lines.first(2).join(' ')[0, 300] })
      end
      return GENERATE.call(answer) if compile_only
      MAIN.eval(source, 'program.rb', 1)
      answer['value'] = GENERATE.call(plain(called(name, PARSE.call(given)))) if name
    rescue SystemExit => error
      if name
        answer = { 'verdict' => 'runtime-error', 'detail' => 'the program ended before its function returned' }
      elsif error.status != 0
        answer = { 'verdict' => 'runtime-error', 'detail' => "exit code #{error.status}" }
      end
    rescue NoMemoryError
      answer = { 'verdict' => 'memory-limit', 'detail' => 'out of memory' }
    rescue Exception => error
      text = shown(error)
      STDERR.write(text, "\n")
      answer = { 'verdict' => 'runtime-error', 'detail' => text.lines.first.to_s.strip[0, 300] }
    end
    while (block = LAST.pop)
      block.call
    end
    STDOUT.flush
    $stdout.flush unless $stdout.equal?(STDOUT)
    GENERATE.call(answer)
  rescue NoMemoryError
    '{"verdict":"memory-limit","detail":"out of memory"}'
  rescue Exception => error
    GENERATE.call({ 'verdict' => 'runtime-error', 'detail' => "at exit: #{error.class}" })
  end
end
module Kernel
  def at_exit(&block) = MyriadHarness::LAST.push(block).last
end
$0 = 'program.rb'
nil
`
