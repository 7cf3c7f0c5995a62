import type { FoundLogin, OtherAddress } from '../discovery/index.ts';
import type { AgentDefinition, ModelApi, PipelineSpec, RuntimeDescriptor } from '@caisson/protocol';

/** A runtime as it was found here. */
export interface FoundRuntime {
  readonly name: string;
  readonly descriptor: RuntimeDescriptor;
  readonly bin: string;
  readonly version: string | null;
  readonly endpoint: string | null;
  /** See {@link OtherAddress}: a run with that key is refused. */
  readonly otherAddress: OtherAddress | null;
  readonly api: ModelApi;
  readonly apiKeyRef: string | null;
  readonly model: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string>>;
  readonly adapter: { readonly path: string; readonly sha256: string } | null;
  /** Whether its user agreed that runs use their log-in. */
  readonly login: boolean;
  /** The user's log-in here, agreed to or not. */
  readonly foundLogin: FoundLogin | null;
  /** Whether MCP servers that the repository names are started. */
  readonly projectServers: boolean;
}

/** An agent definition after its name was resolved. */
export interface FoundAgent {
  readonly name: string;
  readonly hash: string;
  readonly definition: AgentDefinition;
}

/** An env bundle after its name was resolved. */
export interface FoundEnvBundle {
  readonly name: string;
  readonly hash: string;
  readonly values: Record<string, string>;
  readonly secrets: Record<string, string>;
}

/** What names of runtimes and models stand for. */
export interface RuntimeNames {
  runtime(name: string): Promise<FoundRuntime>;
  /** The runtimes that could be used, for an error that lists them. */
  usableRuntimes(): Promise<readonly string[]>;
  /** A model name as the runtime knows it (`fast` and the like are mapped). */
  model(runtime: string, name: string): string;
}

/** What names stand for, as admission resolved them. */
export interface Names extends RuntimeNames {
  agent(name: string): Promise<FoundAgent>;
  capability(name: string): Promise<{ name: string; hash: string }>;
  envBundle(name: string): Promise<FoundEnvBundle>;
  pipeline(name: string): Promise<{ id: string; hash: string; spec: PipelineSpec }>;
}
