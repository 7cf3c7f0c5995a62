export function formatNumber(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: value >= 1000 ? 4 : 3 });
}
