import { CaissonError } from '@caisson/protocol';

import type { CredentialFinding } from './scan-credentials.ts';

/** No such name, version or hash is registered. */
export class UnknownNameError extends CaissonError {
  readonly code = 'NAME_UNKNOWN';
}

/** The definition is not valid for its kind. */
export class DefinitionInvalidError extends CaissonError {
  readonly code = 'DEFINITION_INVALID';
}

/** Something that looks like a credential would have been registered for everyone to read. */
export class CredentialFoundError extends CaissonError {
  readonly code = 'CREDENTIAL_FOUND';
  readonly findings: readonly CredentialFinding[];

  constructor(what: string, findings: readonly CredentialFinding[]) {
    const places = findings.slice(0, 10).map((found) => `${found.path}:${found.line} (${found.kind})`);
    super(`${what} was not registered: it seems to hold credentials at ${places.join(', ')}`, {
      remedy: 'Remove them (and revoke them if they are real); pass secrets by reference in an env bundle.',
    });
    this.findings = findings;
  }
}

/** A record of the registry is damaged. What it named is unknown, not absent. */
export class RegistryCorruptError extends CaissonError {
  readonly code = 'REGISTRY_CORRUPT';
}

/** The registry could not be read or written; says nothing about what is registered. */
export class RegistryAccessError extends CaissonError {
  readonly code = 'REGISTRY_ACCESS_FAILED';
  override readonly retryable = true;
}

/** This runtime has no model for `fast`, `standard` or `max`. */
export class ModelLevelError extends CaissonError {
  readonly code = 'MODEL_LEVEL_UNKNOWN';
}

/** A prompt names a fragment that the agent does not define. */
export class PromptTemplateError extends CaissonError {
  readonly code = 'PROMPT_TEMPLATE_INVALID';
}

/** An env bundle would read secrets of the user, and the user has not allowed that. */
export class SecretsNotAllowedError extends CaissonError {
  readonly code = 'TRUST_REQUIRED';

  /** The message, line by line. */
  readonly lines: readonly string[];

  constructor(name: string, secrets: Readonly<Record<string, string>>) {
    const lines = [
      `the env bundle "${name}" would read your secrets in every run that uses it:`,
      ...Object.entries(secrets).map(([variable, ref]) => `  ${variable} from ${ref}`),
    ];
    super(lines.join('\n'), {
      remedy:
        'Look at each of them (exec: runs on this machine, outside any sandbox), then add --allow-secrets.',
    });
    this.lines = lines;
  }
}
