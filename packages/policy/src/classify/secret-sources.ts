/** Programs that print secrets when asked to: of clusters, vaults, clouds and password stores. */
const SOURCES: Readonly<Record<string, RegExp>> = {
  kubectl:
    /\bget\b.*\bsecrets?\b|\bdescribe secrets?\b|\bconfig view\b.*--raw\b|\bcreate token\b|\bexec\b.*(?:\b(?:env|printenv)\b|\/secrets\/|\.ssh\/|\.aws\/)/,
  oc: /\b(?:get|extract|describe)\b.*\bsecrets?\b|\bwhoami\b.*-t\b/,
  vault: /\b(?:read|kv get|token (?:lookup|create)|print token|unwrap)\b/,
  aws: /\bget-secret-value\b|\bbatch-get-secret-value\b|\bget-parameters?\b.*--with-decryption\b|\bsts (?:get-session-token|assume-role|get-federation-token)\b|\bconfigure (?:get|export-credentials)\b|\bcreate-access-key\b|\bkms decrypt\b|\bget-login-password\b|\bget-password-data\b/,
  gcloud: /\bsecrets versions access\b|\bprint-(?:access|identity)-token\b|\bkms decrypt\b|\bkeys create\b/,
  az: /\bkeyvault (?:secret|key) (?:show|download|list)\b|\bget-access-token\b|\bcredential show\b|\bkeys list\b|\bshow-connection-string\b/,
  op: /^(?:read|item get|document get|inject|get)\b/,
  bw: /^(?:get|export|list)\b/,
  lpass: /^(?:show|export)\b/,
  gopass: /^(?:show|cat)\b/,
  doppler: /\bsecrets\b/,
  infisical: /^(?:export|secrets)\b/,
  chamber: /^(?:read|export|env)\b/,
  sops: /(?:^|\s)(?:-d|--decrypt|decrypt|exec-env)\b/,
  'ansible-vault': /^(?:view|decrypt)\b/,
  age: /(?:^|\s)(?:-d|--decrypt)\b/,
  gh: /^auth (?:token|status\b.*(?:-t|--show-token))/,
  glab: /^auth (?:token|status\b.*(?:-t|--show-token))|^variable (?:get|export)\b/,
  heroku: /^config\b/,
  railway: /^variables\b/,
  fly: /^config (?:show|env)\b|^tokens\b/,
  flyctl: /^config (?:show|env)\b|^tokens\b/,
  docker: /(?:^|\s)inspect\b|\bexec\b.*\b(?:env|printenv)\b|^compose\b.*\bconfig\b/,
  podman: /(?:^|\s)inspect\b|\bexec\b.*\b(?:env|printenv)\b/,
  'docker-compose': /\bconfig\b/,
  terraform: /^(?:output|show|state pull)\b/,
  tofu: /^(?:output|show|state pull)\b/,
  pulumi: /--show-secrets\b/,
  helm: /^get\b/,
  git: /^credential fill\b|^config (?:-l|--list|--get\S* \S*(?:token|extraheader|password))/,
  npm: /^(?:token list|config (?:list|ls|get))\b.*(?:-l|auth)/i,
  curl: /\b169\.254\.(?:169\.254|170\.2)\b|\bmetadata\.google\.internal\b/,
  wget: /\b169\.254\.(?:169\.254|170\.2)\b|\bmetadata\.google\.internal\b/,
  history: /^$/,
  fc: /^-l/,
  sqlite3: /\b(?:Login Data|Cookies|logins\.json|key4\.db)\b/,
  ps: /(?:^|\s)-?\w*e\w*ww/,
};
const NAMES_SECRET = /(?:SECRET|TOKEN|PASSW|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL)/i;

/** Whether this program, with these words, prints something that is a secret. */
export function isSecretSource(name: string, args: readonly string[]): boolean {
  if (name === 'printenv') return args.some((arg) => NAMES_SECRET.test(arg));
  const source = Object.hasOwn(SOURCES, name) ? SOURCES[name] : undefined;
  return source?.test(args.join(' ')) === true;
}
