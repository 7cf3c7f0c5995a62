/** The operations of names: agents, capabilities, env bundles and pipelines. */
import { ApiInputs } from '@caisson/protocol';
import { cutPage, json, list, tagged } from './define-operation.ts';

export const REGISTRY_OPERATIONS = {
  registryList: list()(
    'GET /v1/registry/:kind',
    () => ApiInputs.registryList,
    async ({ caisson }, { kind, ...page }) =>
      cutPage(await caisson.registry.list(kind), page, ({ name }) => name),
    ({ name }) => name,
  ),
  registryGet: tagged(
    json(
      'GET /v1/registry/:kind/:reference',
      () => ApiInputs.registryGet,
      ({ caisson }, input) => caisson.registry.get(input.kind, input.reference),
    ),
    () => true,
  ),
  register: json(
    'POST /v1/registry/:kind',
    () => ApiInputs.register,
    ({ caisson }, { kind, name, path, ...how }) => caisson.registry.register(kind, name, path, how),
  ),
  registerFolder: json(
    'POST /v1/registry',
    () => ApiInputs.registerFolder,
    ({ caisson }, { folder, ...how }) => caisson.registry.registerFolder(folder, how),
  ),
};
