/** Lua that comes before the program: JSON, and calls by name. Everything it uses is local before the program runs. */
export const LUA_HARNESS = String.raw`
local type, pairs, tostring, tonumber, error, select, load = type, pairs, tostring, tonumber, error, select, load
local floor, huge, mathtype = math.floor, math.huge, math.type
local byte, char, sub, find, format, gsub, match = string.byte, string.char, string.sub, string.find, string.format, string.gsub, string.match
local concat, unpack, utf8char = table.concat, table.unpack, utf8.char
local exit, out, err = os.exit, io.stdout, io.stderr
debug.sethook = nil

os.exit = function(code, ...)
  out:flush()
  err:flush()
  if code == nil or code == true then code = 0 elseif code == false then code = 1 end
  exit(code)
end

local escapes = { ['"'] = '\\"', ['\\'] = '\\\\', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t' }
local function quoted(text)
  return '"' .. gsub(text, '[%c"\\\127]', function(c) return escapes[c] or format('\\u%04x', byte(c)) end) .. '"'
end

local function encode(value, depth, seen)
  local kind = type(value)
  if kind == 'nil' then return 'null' end
  if kind == 'boolean' then return value and 'true' or 'false' end
  if kind == 'string' then return quoted(value) end
  if kind == 'number' then
    if mathtype(value) == 'integer' then
      local text = format('%d', value)
      if value > 9007199254740991 or value < -9007199254740991 then return '"' .. text .. '"' end
      return text
    end
    if value ~= value then return '"NaN"' end
    if value == huge then return '"Infinity"' end
    if value == -huge then return '"-Infinity"' end
    return format('%.17g', value)
  end
  if kind ~= 'table' then error('a ' .. kind .. ' is no JSON value', 0) end
  if depth > 100 or seen[value] then error('a value nested too deeply for JSON', 0) end
  seen[value] = true
  local count, largest, list = 0, 0, true
  for key in next, value do
    count = count + 1
    if mathtype(key) == 'integer' and key > 0 then
      if key > largest then largest = key end
    else
      list = false
    end
  end
  local parts = {}
  if list and largest <= 2 * count + 8 then
    for i = 1, largest do parts[i] = encode(value[i], depth + 1, seen) end
    seen[value] = nil
    return '[' .. concat(parts, ',') .. ']'
  end
  for key, item in next, value do
    if type(key) ~= 'string' and type(key) ~= 'number' then error('a key that is no text', 0) end
    parts[#parts + 1] = quoted(tostring(key)) .. ':' .. encode(item, depth + 1, seen)
  end
  seen[value] = nil
  return '{' .. concat(parts, ',') .. '}'
end

local names = { b = '\b', f = '\f', n = '\n', r = '\r', t = '\t' }
local function decode(text)
  local at = 1
  local value
  local function space() at = find(text, '[^ \n\r\t]', at) or #text + 1 end
  local function str()
    local parts = {}
    at = at + 1
    while true do
      local stop = find(text, '["\\]', at)
      parts[#parts + 1] = sub(text, at, stop - 1)
      if byte(text, stop) == 34 then at = stop + 1 return concat(parts) end
      local c = sub(text, stop + 1, stop + 1)
      at = stop + 2
      if c == 'u' then
        local code = tonumber(sub(text, at, at + 3), 16)
        at = at + 4
        if code >= 0xD800 and code < 0xDC00 and sub(text, at, at + 1) == '\\u' then
          code = 0x10000 + (code - 0xD800) * 1024 + tonumber(sub(text, at + 2, at + 5), 16) - 0xDC00
          at = at + 6
        end
        parts[#parts + 1] = utf8char(code)
      else
        parts[#parts + 1] = names[c] or c
      end
    end
  end
  function value()
    space()
    local c = sub(text, at, at)
    if c == '"' then return str() end
    if c == '[' or c == '{' then
      local made, n = {}, 0
      at = at + 1
      space()
      while sub(text, at, at) ~= (c == '[' and ']' or '}') do
        if c == '{' then
          local key = str()
          space()
          at = at + 1
          made[key] = value()
        else
          n = n + 1
          made[n] = value()
        end
        space()
        if sub(text, at, at) == ',' then at = at + 1 space() end
      end
      at = at + 1
      return made, n
    end
    local word = match(text, '^[%w.+-]+', at)
    at = at + #word
    if word == 'true' then return true elseif word == 'false' then return false elseif word == 'null' then return nil end
    return tonumber(word)
  end
  return value()
end

local globals = _G
return function(mode, name, json)
  if mode == 'flush' then out:flush() err:flush() return '' end
  local self, found = nil, globals
  for part in string.gmatch(name, '[^.]+') do
    self, found = found, type(found) == 'table' and found[part] or nil
  end
  if type(found) ~= 'function' then error(name .. ' is not a function of the program', 0) end
  local arguments, n = decode(json)
  return encode((found(unpack(arguments, 1, n))), 0, {})
end
`
