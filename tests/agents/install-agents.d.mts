export interface PinnedAgent {
  readonly name: string;
  readonly npmPackage: string;
  readonly version: string;
  readonly bin: string;
  readonly isAdapter?: true;
}
export const PINNED_AGENTS: readonly PinnedAgent[];
export const PINNED_ADAPTERS: readonly PinnedAgent[];
export function findAgentBin(name: string): string | null;
export function installAgent(agent: PinnedAgent, say?: (text: string) => void): Promise<string>;
export function pathWithPinnedNode(): string;
