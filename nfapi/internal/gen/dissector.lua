-- Dissector of 5G nFAPI (P5 over TCP and SCTP, P7 over UDP) and FAPI as OpenAirInterface and
-- Aerial send them, for Wireshark 4.0 and later.
--
-- Made by `go generate ./nfapi` from the layouts in nfapi/internal/gen: do not edit.
-- The header's length field says which generation it is, and that the profile:
-- oai-2025, oai-2024 or, little endian with a FAPI header, aerial.
--
--   tshark -X lua_script:nfapi.lua -r file.pcap -Y nfapi5g

local proto = Proto("nfapi5g", "5G nFAPI")
local structs, unions, messages, tags = {}, {}, {}, {}

-- LAYOUTS

local pf = {
  phy = ProtoField.uint16("nfapi5g.phy_id", "phy_id"),
  id = ProtoField.uint16("nfapi5g.message_id", "message_id", base.HEX),
  length = ProtoField.uint32("nfapi5g.message_length", "message_length"),
  more = ProtoField.bool("nfapi5g.more", "more segments"),
  segment = ProtoField.uint8("nfapi5g.segment", "segment"),
  sequence = ProtoField.uint8("nfapi5g.sequence", "sequence"),
  checksum = ProtoField.uint32("nfapi5g.checksum", "checksum", base.HEX),
  timestamp = ProtoField.uint32("nfapi5g.transmit_timestamp", "transmit_timestamp (us)"),
  profile = ProtoField.string("nfapi5g.profile", "profile"),
  octets = ProtoField.bytes("nfapi5g.octets", "octets"),
  tag = ProtoField.uint16("nfapi5g.tlv.tag", "tag", base.HEX),
  value = ProtoField.bytes("nfapi5g.tlv.value", "value"),
}
local numbers = { u8 = 1, u16 = 2, u24 = 3, u32 = 4, s16 = 2, s32 = 4, ["u8-2"] = 1, count8 = 1, count16 = 2, count32 = 4 }
local signed = { s16 = true, s32 = true }

-- fields makes one ProtoField for each name of a structure.
local function fields(struct, list)
  for _, e in ipairs(list) do
    if e.b then
      fields(struct, e.b)
    else
      local kind = type(e.k) == "table" and e.k[1] or e.k
      local base_kind = kind:match("^[^:]+")
      local abbrev = "nfapi5g." .. struct .. "." .. e.n
      if signed[base_kind] then
        e.f = ProtoField.int32(abbrev, e.n)
      elseif base_kind == "octets" or base_kind == "string" or base_kind == "dcipayload" or base_kind == "txvalue" or base_kind == "srsvalue" then
        e.f = ProtoField.bytes(abbrev, e.n)
      else
        e.f = ProtoField.uint32(abbrev, e.n)
      end
      pf[abbrev] = e.f
    end
  end
end
for name, list in pairs(structs) do fields(name, list) end
for name, u in pairs(unions) do
  u.tf = ProtoField.uint16("nfapi5g." .. name .. "." .. u.type, u.type)
  u.sf = ProtoField.uint16("nfapi5g." .. name .. "." .. u.size, u.size)
  pf[name .. "t"], pf[name .. "s"] = u.tf, u.sf
end
proto.fields = pf

local truncated = ProtoExpert.new("nfapi5g.truncated", "nFAPI truncated", expert.group.MALFORMED, expert.severity.ERROR)
proto.experts = { truncated }

-- A cursor c has tvb, at, limit, profile (1 to 3) and little.

local function range(c, n, what)
  if n < 0 or c.at + n > c.limit then error({ what = what, at = c.at }) end
  local r = c.tvb(c.at, n)
  c.at = c.at + n
  return r
end

local function number(c, kind, what)
  local r = range(c, numbers[kind], what)
  local v
  if kind == "u24" or not c.little then v = signed[kind] and r:int() or r:uint() else v = signed[kind] and r:le_int() or r:le_uint() end
  if kind == "u8-2" then v = (v + 2) % 256 end
  return v, r
end

local function bit(v, mask) return math.floor(v / mask) % 2 == 1 end

local function popcount(v)
  local n = 0
  while v > 0 do
    n = n + v % 2
    v = math.floor(v / 2)
  end
  return n
end

-- amount is what a formula gives; "-" is the count in front.
local function amount(formula, vals)
  local f, x = formula:match("^(%w+)%((.*)%)$")
  local v = x == "-" and vals[0] or vals[x] or (vals.outer and vals.outer[x:gsub("^%^", "")]) or 0
  if f == "floor8" then return math.floor(v / 8) + 1 end
  if f == "ceil8" then return math.floor((v + 7) / 8) end
  if f == "crc" then return v == 0 and 0 or math.floor(v / 8) + 1 end
  if f == "popcount" then return popcount(v) end
  if f == "pow2" then return 2 ^ math.min(v, 8) end
  if f == "all" then return 4 end
  return v
end

local walk

local function union(c, tree, name)
  local u = unions[name]
  local start = c.at
  local kind, tr = number(c, "u16", u.type)
  local size, sr = number(c, "u16", u.size)
  local sub = tree:add(proto, c.tvb(start, 4), (u.members[kind] or "unknown type") .. " PDU")
  sub:add(u.tf, tr, kind)
  sub:add(u.sf, sr, size)
  local outer = c.limit
  if not u.sizeof or not u.members[kind] then
    if size < 4 or start + size > c.limit then error({ what = u.size, at = start }) end
    c.limit = start + size
  end
  if u.members[kind] then walk(c, sub, structs[u.members[kind]], {}) end
  if c.limit < outer then
    if c.at < c.limit then sub:add(pf.octets, range(c, c.limit - c.at, "extra")) end
    c.limit = outer
  end
  sub:set_len(c.at - start)
end

local function beams(c, tree, e, first)
  local start = c.at
  local prgs = number(c, "u16", "num_prgs")
  local size = number(c, "u16", "prg_size")
  local interfaces = number(c, "u8", "dig_bf_interfaces")
  range(c, 2 * prgs * (first + interfaces), "prgs")
  tree:add(e.f, c.tvb(start, c.at - start), prgs):append_text(" PRGs of " .. size .. " PRB, " .. interfaces .. " beams each")
end

local function txvalue(c, tree, e, vals)
  if vals.tag == 2 then
    tree:add(e.f, range(c, 4, "offset")):append_text(" (offset)")
    return
  end
  local n = 4 * math.floor((vals.length + 3) / 4)
  if c.profile == 2 and vals.tag == 1 and c.at + 4 * vals.length <= c.limit then n = 4 * vals.length end
  if n > 0 then tree:add(e.f, range(c, n, "payload")):append_text(c.little and "" or " (32-bit words, octets reversed)") end
end

local function tlvs(c, tree, scope)
  while c.at < c.limit do
    local start = c.at
    local tag, tr = number(c, "u16", "tag")
    local n = number(c, "u16", "length")
    local sub = tree:add(proto, c.tvb(start, 4), (tags[scope][tag] or "TLV") .. string.format(" (0x%04x)", tag))
    sub:add(pf.tag, tr, tag)
    if n > 0 then
      local r = range(c, n, "value")
      sub:add(pf.value, r)
      if n == 1 or n == 2 or n == 4 then sub:append_text(": " .. (c.little and r:le_uint() or r:uint())) end
    end
    if tag == 5 and n == 2 and scope == "phy" and c.message == 1 then
      local entries = c.little and c.tvb(c.at - 2, 2):le_uint() or c.tvb(c.at - 2, 2):uint()
      range(c, math.min(2, c.limit - c.at), "padding")
      for _ = 1, entries do
        if c.at + 4 > c.limit then error({ what = "config_tlvs_to_report_list", at = c.at }) end
        local size = c.tvb(c.at + 2, 1):uint()
        range(c, 4 + (-size) % 4, "config_tlvs_to_report_list")
      end
    else
      range(c, math.min((-n) % 4, c.limit - c.at), "padding")
    end
    sub:set_len(c.at - start)
  end
end

local function elements(c, tree, name, n, vals)
  for i = 1, n do
    if unions[name] then
      union(c, tree, name)
    else
      local start = c.at
      local sub = tree:add(proto, c.tvb(start, 0), name .. " " .. (i - 1))
      walk(c, sub, structs[name], { outer = vals })
      sub:set_len(c.at - start)
    end
  end
end

local function one(c, tree, e, vals)
  local kind = e.k
  if type(kind) == "table" then kind = kind[c.profile] end
  if kind == "-" then return end
  local base_kind, arg = kind:match("^([^:]+):?(.*)$")
  if numbers[base_kind] then
    local v, r = number(c, base_kind, e.n)
    tree:add(e.f, r, v)
    vals[e.n] = v
    if base_kind:sub(1, 5) == "count" then
      vals["#" .. arg] = v
      vals[0] = v
    end
  elseif base_kind == "octets" then
    tree:add(e.f, range(c, tonumber(arg), e.n))
  elseif base_kind == "string" then
    local n = amount(arg, vals)
    if n > 0 then tree:add(e.f, range(c, n, e.n)) end
  elseif base_kind == "u8s" or base_kind == "harqs" or base_kind == "ues" or base_kind == "u16s" or base_kind == "u32s" then
    local width = ({ u16s = "u16", u32s = "u32" })[base_kind] or "u8"
    for _ = 1, amount(arg, vals) do
      local v, r = number(c, width, e.n)
      tree:add(e.f, r, v)
    end
  elseif base_kind == "group" then
    local start = c.at
    local sub = tree:add(proto, c.tvb(start, 0), e.n)
    walk(c, sub, structs[arg], { outer = vals })
    sub:set_len(c.at - start)
  elseif base_kind == "list" or base_kind == "pdus" then
    elements(c, tree, arg, vals["#" .. e.g], vals)
  elseif base_kind == "array" then
    local name, formula = arg:match("^(%w+):%d+:(.*)$")
    elements(c, tree, name, amount(formula, vals), vals)
  elseif base_kind == "beamtx" then
    beams(c, tree, e, 1)
  elseif base_kind == "beamrx" then
    beams(c, tree, e, 0)
  elseif base_kind == "dcipayload" then
    local n = math.floor((vals.PayloadSizeBits + 7) / 8)
    if n > 0 then tree:add(e.f, range(c, n, e.n)) end
  elseif base_kind == "txvalue" then
    txvalue(c, tree, e, vals)
  elseif base_kind == "srsvalue" then
    local n = c.profile == 2 and vals.length or math.floor((vals.length + 3) / 4)
    if n > 0 then tree:add(e.f, range(c, 4 * n, e.n)) end
  elseif base_kind == "tlvs" then
    tlvs(c, tree, c.scope)
  end
end

walk = function(c, tree, list, vals)
  for _, e in ipairs(list) do
    if e.c then
      local v = vals[e.c] or 0
      if (e.x and c.profile == 2 and v == e.m) or (not (e.x and c.profile == 2) and bit(v, e.m)) then walk(c, tree, e.b, vals) end
    elseif e.r then
      for _ = 1, vals[e.r] do walk(c, tree, e.b, vals) end
    else
      one(c, tree, e, vals)
    end
  end
end

-- body dissects what is behind the header.
local function body(c, tree, id, pinfo)
  local m = messages[id]
  pinfo.cols.info = m and m.name or string.format("message 0x%04x", id)
  if not m then
    if c.at < c.limit then tree:add(pf.octets, range(c, c.limit - c.at, "body")) end
    return
  end
  c.scope, c.message = m.scope, id
  local vals = {}
  local sub = tree:add(proto, c.tvb(c.at, c.limit - c.at), m.name)
  local ok, err = pcall(walk, c, sub, structs[m.struct], vals)
  local sfn, slot = vals.sfn or vals.SFN, vals.slot or vals.Slot
  if sfn and slot then pinfo.cols.info:append(" " .. sfn .. "." .. slot) end
  if not ok then
    if type(err) ~= "table" then error(err) end
    sub:add_proto_expert_info(truncated, "truncated: " .. err.what .. " at octet " .. err.at)
    pinfo.cols.info:append(" [truncated: " .. err.what .. "]")
  elseif c.at < c.limit then
    sub:add(pf.octets, range(c, c.limit - c.at, "trailing"))
  end
end

-- header finds out which generation it is: header length, profile, little endian.
local function p7_header(tvb)
  local n = tvb:len()
  if n >= 18 and tvb(4, 4):uint() == n then return 18, 1, false end
  if n >= 16 and tvb(4, 2):uint() == n then return 16, 2, false end
  if n >= 8 and tvb(0, 1):uint() == 1 and tvb(4, 4):le_uint() == n - 8 then return 8, 3, true end
  if n >= 8 and tvb(0, 1):uint() == 1 and tvb(4, 4):uint() == n - 8 then return 8, 1, false end
  if n >= 18 and tvb(4, 4):le_uint() == n then return 18, 3, true end
end

local function p7_known(tvb)
  local n, _, little = p7_header(tvb)
  return n and messages[little and tvb(2, 2):le_uint() or tvb(2, 2):uint()]
end

-- joined finds out how long each of several datagrams is that were captured before the
-- kernel of the sender cut them (UDP_SEGMENT): all but the last have the same length.
local function joined(tvb)
  if tvb:len() < 8 then return end
  for _, size in ipairs({ tvb(4, 4):uint(), tvb(4, 2):uint() }) do
    local at = 0
    while size >= 8 and size < tvb:len() and at < tvb:len() do
      if not p7_known(tvb(at, math.min(size, tvb:len() - at)):tvb()) then break end
      at = at + size
    end
    if at >= tvb:len() then return size end
  end
end

local profiles = { "oai-2025", "oai-2024", "aerial" }

local function p7(tvb, pinfo, root)
  local n, profile, little = p7_header(tvb)
  if not n then
    local size = joined(tvb)
    if not size then return 0 end
    local names = {}
    for at = 0, tvb:len() - 1, size do
      local piece = tvb(at, math.min(size, tvb:len() - at)):tvb()
      p7(piece, pinfo, root)
      names[#names + 1] = messages[piece(2, 2):uint()].name
    end
    pinfo.cols.info = table.concat(names, ", ")
    return tvb:len()
  end
  pinfo.cols.protocol = "nFAPI P7"
  local tree = root:add(proto, tvb(), "5G nFAPI P7")
  tree:add(pf.profile, profiles[profile]):set_generated()
  local c = { tvb = tvb, at = n, limit = tvb:len(), profile = profile, little = little }
  local u16 = function(at) return little and tvb(at, 2):le_uint() or tvb(at, 2):uint() end
  local id = u16(2)
  tree:add(pf.id, tvb(2, 2), id)
  if n == 8 then
    body(c, tree, id, pinfo)
    return tvb:len()
  end
  tree:add(pf.phy, tvb(0, 2), u16(0))
  local mss = u16(n - 10)
  tree:add(pf.more, tvb(n - 10, 1), mss >= 32768)
  tree:add(pf.segment, tvb(n - 10, 1), math.floor(mss / 256) % 128)
  tree:add(pf.sequence, tvb(n - 9, 1), mss % 256)
  tree:add(pf.checksum, tvb(n - 8, 4), little and tvb(n - 8, 4):le_uint() or tvb(n - 8, 4):uint())
  tree:add(pf.timestamp, tvb(n - 4, 4), little and tvb(n - 4, 4):le_uint() or tvb(n - 4, 4):uint())
  if mss >= 256 then
    pinfo.cols.info = string.format("segment %d of message 0x%04x", math.floor(mss / 256) % 128, id)
    tree:add(pf.octets, tvb(n))
    return tvb:len()
  end
  body(c, tree, id, pinfo)
  return tvb:len()
end

-- p5_length is how many octets the message at the beginning has, and its header.
local function p5_header(tvb)
  if tvb:len() < 8 then return end
  local id = tvb(2, 2):uint()
  if messages[id] and tvb:len() >= 10 and tvb(4, 2):uint() == 0 and tvb(8, 2):uint() == 0 and not (tvb(4, 4):uint() == 0 and tvb:len() == 8) then
    return 10, 10 + tvb(4, 4):uint(), 1
  end
  return 8, 8 + tvb(4, 2):uint(), 2
end

local function p5(tvb, pinfo, root)
  local at = 0
  while at < tvb:len() do
    local rest = tvb(at):tvb()
    local n, total, profile = p5_header(rest)
    if n and total > 1048576 then return at end -- no message: do not wait for the rest of it
    if not n or rest:len() < total then
      pinfo.desegment_offset = at
      pinfo.desegment_len = n and total - rest:len() or DESEGMENT_ONE_MORE_SEGMENT
      return tvb:len()
    end
    pinfo.cols.protocol = "nFAPI P5"
    local tree = root:add(proto, rest(0, total), "5G nFAPI P5")
    tree:add(pf.profile, profiles[profile]):set_generated()
    tree:add(pf.phy, rest(0, 2))
    tree:add(pf.id, rest(2, 2))
    tree:add(pf.length, rest(4, n - 6))
    body({ tvb = rest, at = n, limit = total, profile = profile, little = false }, tree, rest(2, 2):uint(), pinfo)
    at = at + total
  end
  return tvb:len()
end

function proto.dissector(tvb, pinfo, root)
  if pinfo.port_type == 1 or pinfo.port_type == 2 then return p5(tvb, pinfo, root) end
  return p7(tvb, pinfo, root)
end

proto:register_heuristic("udp", function(tvb, pinfo, root)
  if not p7_known(tvb) and not joined(tvb) then return false end
  p7(tvb, pinfo, root)
  return true
end)

for _, port in ipairs({ 50010, 50011 }) do DissectorTable.get("udp.port"):add(port, proto) end
for _, port in ipairs({ 50000, 50001 }) do
  DissectorTable.get("tcp.port"):add(port, proto)
  DissectorTable.get("sctp.port"):add(port, proto) -- in UDP, too: Wireshark puts fragments together
end
