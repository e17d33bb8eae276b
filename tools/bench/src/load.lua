-- What wrk sends in one cell of the benchmark, and what it reports in the end, as one line of JSON.
--
-- Arguments: the expected status, the method, the path, the body, the key, the file of live records, the seed. A path or
-- key may hold $1 to $4, the columns of a live record, and $F and $G, sixteen hexadecimal digits that are fresh with each
-- request. An empty key is no header.

local expected, method, path, body, key
local live, at = {}, 0
wrong, first_wrong = 0, ""

local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(arguments)
  expected = tonumber(arguments[1])
  method, path, body, key = arguments[2], arguments[3], arguments[4], arguments[5]
  for line in io.lines(arguments[6]) do
    local columns = {}
    for column in line:gmatch("%S+") do
      table.insert(columns, column)
    end
    table.insert(live, columns)
  end
  math.randomseed(tonumber(arguments[7]))
  at = math.random(#live)
end

-- 62 bits, never all zero.
local function fresh()
  local function quarter(most)
    return math.random(0, most)
  end
  return string.format("%04x%04x%04x%04x", quarter(0x3fff), quarter(0xffff), quarter(0xffff), math.random(1, 0xffff))
end

local function filled(template)
  if not template:find("$", 1, true) then
    return template
  end
  local record = live[at]
  return (template:gsub("%$(.)", function(name)
    if name == "F" or name == "G" then
      return fresh()
    end
    return record[tonumber(name)]
  end))
end

function request()
  at = at % #live + 1
  local headers = {}
  if method ~= "GET" then
    headers["Content-Type"] = "application/json"
  end
  if key ~= "" then
    headers["Idempotency-Key"] = filled(key)
  end
  return wrk.format(method, filled(path), headers, method ~= "GET" and body or nil)
end

function response(status, headers, body)
  if status ~= expected then
    wrong = wrong + 1
    if wrong == 1 then
      first_wrong = status .. " " .. (body or ""):sub(1, 300)
    end
  end
end

function done(summary, latency)
  local wrong, first_wrong = 0, ""
  for _, thread in ipairs(threads) do
    wrong = wrong + thread:get("wrong")
    if first_wrong == "" then
      first_wrong = thread:get("first_wrong")
    end
  end
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"unanswered":%d,"wrong":%d,"first_wrong":"%s"}\n',
    summary.requests,
    summary.duration,
    latency:percentile(50),
    latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.timeout,
    wrong,
    (first_wrong:gsub("[^ -~]", "?"):gsub('[\\"]', "\\%0"))
  ))
end
