import type { AgentDefinition, EnvBundle, PipelineSpec, RegistryKind } from '@caisson/protocol';

/** One version of a name. Versions are only added. */
export interface RegistryVersion {
  readonly kind: RegistryKind;
  readonly name: string;
  /** From 1, without holes. */
  readonly version: number;
  /** Digest of the definition, or of the bundle for a capability; in the store. */
  readonly hash: string;
  readonly at: string;
}

/** One difference to the version before. Values of an env bundle are never shown. */
export interface DiffLine {
  readonly sign: '+' | '-' | '~';
  /** A file of a capability, or a member of a definition such as `verify.command`. */
  readonly path: string;
  readonly before?: string;
  readonly after?: string;
}

export interface Registration extends RegistryVersion {
  /** False when the name already stood for exactly this. */
  readonly changed: boolean;
  /** Against the version before; empty for the first one. */
  readonly diff: readonly DiffLine[];
}

/** A registered thing as it may be shown. */
export interface RegistryItem extends RegistryVersion {
  readonly definition: unknown;
}

/** A definition, or for a capability the path of its folder. */
export type RegistrationSource = { readonly definition: unknown } | { readonly folder: string };

/**
 * Names to content hashes. A reference is a name (its newest version), `name@3`, or a hash.
 * Promises: a returned version is durable; registering the same content again changes nothing; a record that cannot
 * be read is an error and never an absent name.
 */
export interface Registry {
  register(kind: RegistryKind, name: string, source: RegistrationSource): Promise<Registration>;
  /**
   * Validates, scans and stores a thing that is declared elsewhere (`caisson.yaml`); returns its hash, records no name.
   */
  stage(kind: RegistryKind, name: string, source: RegistrationSource): Promise<string>;
  /** The newest version of every name, by name. */
  list(kind: RegistryKind): Promise<readonly RegistryVersion[]>;
  /** All versions of a name, oldest first. Throws `UnknownNameError`. */
  versions(kind: RegistryKind, name: string): Promise<readonly RegistryVersion[]>;
  /** For showing: an env bundle comes without its values. */
  get(kind: RegistryKind, reference: string): Promise<RegistryItem>;
  /** The hash that a reference means now. */
  resolve(kind: RegistryKind, reference: string): Promise<string>;
  loadAgent(reference: string): Promise<RegistryVersion & { readonly definition: AgentDefinition }>;
  /** With values: for the host's prepare stage, never for printing. */
  loadEnvBundle(reference: string): Promise<RegistryVersion & { readonly bundle: EnvBundle }>;
  loadPipeline(reference: string): Promise<RegistryVersion & { readonly spec: PipelineSpec }>;
  loadCapability(reference: string): Promise<RegistryVersion>;
  /** Every version: gc must keep them. */
  listVersions(): Promise<readonly RegistryVersion[]>;
}
