/**
 * Giving away access: a role that may do everything, an opening for everyone, a removed protection. Nothing is deleted,
 * and everything may be afterwards.
 */
import { hit, type Hit } from '../finding.ts';

const EVERYBODY = String.raw`(?:0\.0\.0\.0\/0|::\/0)`;
const anyone = (text: string): RegExp => new RegExp(text.replaceAll('EVERYBODY', EVERYBODY), 'i');

/** Per program: words that widen access. */
const GRANTS: Readonly<Record<string, RegExp>> = {
  kubectl: anyone(
    String.raw`\bcreate (?:cluster)?rolebinding\b.*(?:--(?:cluster)?role[= ](?:cluster-admin|admin|edit)\b|system:(?:anonymous|unauthenticated|authenticated|masters|serviceaccounts))|\bcreate (?:cluster)?role\b.*--verb[= ]\*|\bproxy\b.*--(?:address[= ]0\.0\.0\.0|disable-filter)|\brun\b.*(?:--privileged\b|"?(?:privileged|hostPID|hostNetwork)"?\s*:\s*true)|\bdebug node\/|\bpod-security\.kubernetes\.io\/\w+=privileged`,
  ),
  oc: /\badm policy add-\S+-to-(?:user|group)\b|\bcreate (?:cluster)?rolebinding\b.*--clusterrole[= ](?:cluster-admin|admin|edit)\b|\bpolicy add-role-to-(?:user|group) (?:admin|edit)\b/,
  aws: anyone(
    String.raw`\bauthorize-security-group-\w+\b.*EVERYBODY|\bs3api put-(?:bucket|object)-acl\b.*(?:public|AllUsers|AuthenticatedUsers|--grant-)|\bput-(?:bucket|key|resource)-policy\b.*(?:Principal"?\s*:\s*(?:\{\s*"AWS"\s*:\s*)?"\*"|public)|\bput-public-access-block\b.*=false|\biam (?:add-user-to-group|update-assume-role-policy|create-(?:user|service-specific-credential)|update-login-profile|deactivate-mfa-device|set-default-policy-version|create-policy-version)\b|\bmodify-(?:snapshot|image|db-snapshot|db-cluster-snapshot)-attribute\b.*\ball\b|--publicly-accessible\b|--no-(?:deletion|termination)-protection\S*|--no-disable-api-termination\b|--backup-retention-period[= ]0\b|\blambda add-permission\b.*--principal[= ]\*|\bcreate-function-url-config\b.*NONE\b|\bset-repository-policy\b.*\*|\bput-bucket-versioning\b.*Suspended|\bupdate-detector\b.*--no-enable\b|\bhttp-tokens[= ]optional\b|\bput-retention-policy\b.*--retention-in-days[= ]1\b|\bs3 (?:cp|sync)\b.*--acl[= ]public-read-write`,
  ),
  gcloud: anyone(
    String.raw`\badd-iam-policy-binding\b.*(?:allUsers|allAuthenticatedUsers|roles\/(?:owner|editor|\S*admin\b|\S*tokenCreator))|\bset-iam-policy\b|\bfirewall-rules (?:create|update)\b.*(?:EVERYBODY|--allow[= ](?:all|tcp)(?:\s|$)|--rules[= ]all\b)|--authorized-networks[= ]\S*0\.0\.0\.0\/0|--no-(?:deletion-protection|backup|public-access-prevention|enable-master-authorized-networks)\b|\bservice-accounts keys create\b|\badd-metadata\b.*ssh-keys|--enable-legacy-authorization\b`,
  ),
  gsutil: /\b(?:iam ch|acl (?:ch|set)|defacl (?:ch|set))\b.*(?:allUsers|allAuthenticatedUsers|public-read)/i,
  az: anyone(
    String.raw`\brole assignment create\b.*\b(?:owner|contributor|administrator)\b|\bnsg rule (?:create|update)\b.*(?:EVERYBODY|\*|internet|\bany\b)|--allow-blob-public-access true\b|--public-access (?:blob|container)\b|\bcreate-for-rbac\b.*\bowner\b|\bsp credential reset\b|\bkeyvault set-policy\b|\bfirewall-rule create\b.*0\.0\.0\.0.*(?:255\.255\.255\.255|0\.0\.0\.0)|\bopen-port\b.*--port[= ]\*|--default-action allow\b|--bypass-\S*protection`,
  ),
  mc: /^(?:anonymous|policy) set (?:public|upload|download)\b|^admin (?:policy (?:attach|set)\b.*(?:consoleAdmin|readwrite)|user add\b)/,
  s3cmd: /^setacl\b.*--acl-public\b|^setpolicy\b/,
  vault:
    /\btoken create\b.*-policy[= ]root\b|\bwrite (?:auth|sys)\/.*\bpolicies=\S*(?:root|admin)|\boperator generate-root\b/,
  dockerd: /tcp:\/\/(?:0\.0\.0\.0|:)/,
  heroku: /\baccess:add\b|\bmembers:add\b.*\badmin\b/,
  rabbitmqctl: /\bset_user_tags \S+ administrator\b/,
  gh: /^api\b.*(?:collaborators|memberships|invitations|\/protection|\/keys|\/hooks|actions\/permissions)\b.*(?:-X|--method)[= ]?(?:PUT|POST|PATCH)|^api\b.*(?:-X|--method)[= ]?(?:PUT|POST|PATCH)\b.*(?:collaborators|memberships|invitations|\/protection|\/keys|\/hooks|actions\/permissions)\b|^(?:repo deploy-key|ssh-key|gpg-key) add\b/,
  glab: /^(?:ssh-key|deploy-key) add\b|^api\b.*\bmembers\b.*access_level=(?:40|50)/,
};
/** In any client of a cloud: a firewall rule for everyone. */
const OPENS = anyone(
  String.raw`\b(?:firewall|security[- ]?group|secgroup|ingress|inbound|nsg|acl|authorized-networks|allow-?list|whitelist|trusted-sources)\S*\b.*EVERYBODY`,
);
const CLOUD_CLIENT =
  /^(?:aws|gcloud|az|doctl|hcloud|openstack|linode-cli|oci|ibmcloud|scw|yc|ovhai|exo|civo|vultr-cli|upctl|aliyun|tccli|fly|flyctl)$/;

/** Real commands are not longer; the patterns take a time that grows with the square. */
const MAX_LENGTH = 3000;

/** The access that the words of a service's client give away; null when none. */
export function judgeGrant(name: string, line: string, stdin: string | undefined): Hit | null {
  const words = line.slice(0, MAX_LENGTH);
  const grants = Object.hasOwn(GRANTS, name) ? GRANTS[name] : undefined;
  const isGiven =
    grants?.test(words) === true ||
    (CLOUD_CLIENT.test(name) &&
      OPENS.test(words) &&
      !/\b(?:describe|list|get|show)\b/.test(words.slice(0, 60))) ||
    (/^(?:kubectl|oc)$/.test(name) &&
      /\b(?:apply|create|replace)\b/.test(words) &&
      GIVES_CLUSTER.test((stdin ?? '').slice(0, 8 * MAX_LENGTH)));
  return isGiven ? hit('bash_destructive', 'grants-access') : null;
}

/** A manifest on the line that gives full control of the cluster, or of the node. */
const GIVES_CLUSTER =
  /kind:\s*ClusterRoleBinding[\s\S]{0,600}name:\s*cluster-admin\b|\bprivileged:\s*true\b|\bhostPID:\s*true\b|\bhostPath:\s*(?:\{\s*)?path:\s*\/\s/;

/** SQL that gives full control of the server, or lets it write files and run programs. */
export const GRANTING_SQL =
  /\b(?:alter|create)\s+(?:role|user|login)\b[^;]{0,300}\b(?:superuser|createrole|bypassrls|sysadmin)\b|\bgrant\s+all(?:\s+privileges)?\s+on\s+\*\s*\.\s*\*|\bgrant\s+all\b[^;]{0,300}\bto\s+public\b|\bgrant\b[^;]{0,300}\bwith\s+(?:grant|admin)\s+option\b|\bgrant\s+(?:role\s+)?(?:pg_(?:write_server_files|execute_server_program|read_server_files|write_all_data)|rds_superuser|cloudsqlsuperuser|sysadmin|dba|sysdba|accountadmin|securityadmin|super|file|shutdown|postgres|admin)\b[^;]{0,300}\bto\b|\bsp_addsrvrolemember\b|\bxp_cmdshell\b|\balter\s+server\s+role\s+sysadmin\b|\bidentified\s+by\s+''|\binto\s+(?:outfile|dumpfile)\b|\bcopy\b[^;]{0,300}\b(?:to|from)\s+program\b|\bpg_(?:read|write)_(?:binary_)?file\b|\blo_(?:import|export)\b|\bload_file\s*\(|\bdisable\s+(?:row\s+level\s+security|trigger)\b|\bset\s+global\s+(?:local_infile|secure_\w+|validate_password\w*|init_file)\b/i;
