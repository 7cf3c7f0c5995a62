/** Code that reads secrets and connects to another machine. */
import { namesCredential } from '@caisson/protocol';

const POSTS =
  /\brequests\.(?:post|put|patch|request)\(|\bfetch\s*\(|\burlopen\b|\burllib\.request\.Request\b|\baxios(?:\.(?:post|put|request))?\s*\(|\bhttps?['"]?\)?\.request\b|\bhttps?['"]?\)?\.get\s*\(|\bhttp\.client\b|\bNet::(?:HTTP|SMTP|FTP)\b|\bsocket\b|\bTCPSocket\b|\bIO::Socket\b|\bhttpx\.(?:post|put)\(|\baiohttp\b|\bsendmail\b|\bsmtplib\b|\bftplib\b|\bparamiko\b|\bput_object\b|\bupload_file(?:obj)?\b|\bgot\.(?:post|put)\(|\bRestClient\.(?:post|put)\b|\bHTTParty\.(?:post|put)\b|\bFaraday\b|\bLWP\b|\bHTTP::Tiny\b|\bcurl_exec\b|\bstream_context_create\b|\bfsockopen\b|\bgethostbyname\s*\(|\bdns\.(?:lookup|resolve\w*)\s*\(|\bwebsockets?\b|\bWebSocket\b|\bnet\.connect\b|\bcreateConnection\b/;
/** The whole environment or a file of secrets, as data. */
const ENVIRONMENT =
  /\bprocess\.env\b(?![.[?])(?<!(?:(?:[pP]arse|cleanEnv|validate\w*|load|update)\(\s*|\benv\s*[:=]\s*|(?<!stringify\(\{\s*)\.\.\.)process\.env)|\bos\.environ\b(?!\s*[.[])(?<!(?:['"]\s(?:not\s)?in\s|(?:from_mapping|update|[pP]arse|validate\w*)\(|\benv\s*=\s*(?:\{\*\*)?)os\.environ)|\bos\.environ\.(?:items|copy|values|_data)\b|\bENV\.(?:to_h|to_a|each|map|inspect|to_json|select|filter)\b|%ENV\b|\$_ENV\b(?!\s*\[)|\bgetenv\(\s*\)|\bDeno\.env\.toObject\b|\/proc\/(?:self|\w+)\/environ|\bos\.environb\b|\bSystem\.getenv\(\s*\)/;
/** What the table of credentials has not: files of secrets, wallets, and what browsers keep. */
const FILES =
  /['"`/](?:[^'"`\n]{0,200}\/)?(?:\.env(?:\.\w+)?|wallet\.dat|Login Data|Cookies|cookies\.sqlite|logins\.json|key4\.db|credentials(?:\.json|\.toml|\.ya?ml)?)['"`]|\.mozilla\/|google-chrome\/|Library\/Keychains/;
const OWN_SERVER = /localhost|127\.0\.0\.1|\[::1\]/;

/** Every text that names a secret contains one of these; most texts contain none. */
const NEEDLES =
  'env ENV .ssh .aws .gnupg .kube .npmrc .pypirc .netrc .pgpass credential id_ wallet Login ookies logins key4 shadow .mozilla chrome .password secrets .docker .config .vault Keychains auth.json .azure keyrings oauth_creds'.split(
    ' ',
  );

export function codeSendsSecrets(text: string): boolean {
  if (!NEEDLES.some((needle) => text.includes(needle))) return false;
  return (
    POSTS.test(text) &&
    !OWN_SERVER.test(text) &&
    (ENVIRONMENT.test(text) || FILES.test(text) || namesCredential(text))
  );
}
