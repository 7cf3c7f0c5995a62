export function buildSeccompProgram(): Buffer {
  return Buffer.from([0x06, 0, 0, 0, 0, 0, 0xff, 0x7f]);
}
