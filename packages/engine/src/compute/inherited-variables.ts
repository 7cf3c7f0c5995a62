/** Names of the host's environment that every worker has, too. */
const INHERITED = [
  'TMPDIR',
  // Whom Node trusts: a worker connects to the model and to services as the host would.
  'NODE_EXTRA_CA_CERTS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_USE_SYSTEM_CA',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
];
/** Options of Node about connections; any other could change what a worker is. */
const OPTION =
  /^--(?:use-(?:bundled|openssl|system)-ca|tls-(?:min|max)-v1\.[0-3]|tls-cipher-list=\S+|dns-result-order=\S+)$/;

/** What a worker inherits of its host: where temporary files go, and how Node connects. None of it is secret. */
export function inheritVariables(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const options = (env['NODE_OPTIONS'] ?? '').split(/\s+/).filter((word) => OPTION.test(word));
  const inherited = INHERITED.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
  return {
    ...Object.fromEntries(inherited),
    ...(options.length === 0 ? {} : { NODE_OPTIONS: options.join(' ') }),
  };
}
