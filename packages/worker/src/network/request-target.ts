/**
 * One reading of a request's path. This text is compared with the allowed operations, counted and sent, so that the
 * server cannot read another path than the judged one.
 */
export type ReadTarget =
  | { readonly path: string; /** With its question mark, or empty. */ readonly query: string }
  | { readonly problem: string };

/** The characters of a decoded model API path. A `%` here was encoded twice, a `;` begins parameters. */
const PLAIN = /^[A-Za-z0-9\-._~!$&'()*+,=:@/]*$/;
/** Parameters that make some servers use another method or other headers than the request has. */
const OVERRIDING_PARAMETER = /^(?:\$|_method$|x-http-method)/i;
/** A path that is still encoded after this many rounds is not accepted. */
const MAX_DECODINGS = 4;

/**
 * Percent-encoding is undone, doubled and trailing slashes are dropped. What servers read in different ways (encoded
 * slashes, backslashes, double encodings, `;`, dot segments) is a problem, not a path.
 */
export function normalizeTarget(target: string): ReadTarget {
  const { path, query } = splitTarget(target);
  const decoded = decode(path); // an invalid encoding keeps its percent sign, which is not plain
  if (/%2f/i.test(path) || !PLAIN.test(decoded) || target.includes('#'))
    return { problem: 'a path that servers can read in more than one way is not forwarded' };
  const segments = decoded.split('/').filter((segment) => segment !== '');
  if (segments.some(isDots)) return { problem: 'a path with . or .. segments is not forwarded' };
  if (parameterNames(query).some((name) => OVERRIDING_PARAMETER.test(name)))
    return { problem: 'a parameter that changes the method or the headers is not forwarded' };
  return { path: `/${segments.join('/')}`, query };
}

/**
 * The endpoint's path and the request's, with the API's version once: users give an endpoint with it or without, and
 * programs put it before their calls or do not. Where both name one, the request's counts.
 */
export function joinEndpoint(base: string, target: string): { readonly base: string; readonly path: string } {
  const path = target.replace(/^(?:\/v1(?:alpha|beta)?)+(?=\/v1(?:alpha|beta)?\/)/, '');
  const isNamed = /^\/v1(?:alpha|beta)?\//.test(path);
  const own = base.replace(/\/+$/, '');
  return { base: own.replace(/(?:\/v1(?:alpha|beta)?)*(\/v1(?:alpha|beta)?)$/, isNamed ? '' : '$1'), path };
}

/**
 * For a service, whose paths may contain anything: forwarded as it is, unless it would leave the endpoint's base path.
 */
export function confineTarget(target: string): ReadTarget {
  const { path, query } = splitTarget(target);
  let decoded = path;
  for (let times = 0; times <= MAX_DECODINGS; times++) {
    const segments = decoded.replaceAll('\\', '/').split('/');
    // Some servers read `..;x` as `..`.
    if (segments.some((segment) => isDots(segment.split(';', 1)[0] ?? '')))
      return { problem: 'a path with . or .. segments is not forwarded' };
    const next = decode(decoded);
    if (next === decoded) return { path, query };
    decoded = next;
  }
  return { problem: 'a path that is encoded many times is not forwarded' };
}

function splitTarget(target: string): { path: string; query: string } {
  const at = target.indexOf('?');
  return at === -1 ? { path: target, query: '' } : { path: target.slice(0, at), query: target.slice(at) };
}

/** Bytes become characters one by one: only ASCII matters here. */
function decode(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

const isDots = (segment: string): boolean => segment === '.' || segment === '..';

function parameterNames(query: string): string[] {
  return query
    .replace(/^\?/, '')
    .split(/[&;]/)
    .map((pair) => decode(pair.split('=', 1)[0] ?? ''));
}
