// The browser comes compressed in its package: unpack it, and let it find the font that the pictures are taken with.
import { chmodSync, createReadStream, createWriteStream, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";

const folder = resolve(process.argv[2]);
const packed = `${folder}/node_modules/@sparticuz/chromium/bin/chromium.br`;
await pipeline(createReadStream(packed), createBrotliDecompress(), createWriteStream(`${folder}/chromium`));
chmodSync(`${folder}/chromium`, 0o755);
writeFileSync(`${folder}/fonts.conf`, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/node_modules/@expo-google-fonts/inter</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${folder}/fontcache</cachedir>
</fontconfig>
`);
