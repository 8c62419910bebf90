import type { CredentialValue } from '../../core/credential/value.ts';
import { readValue } from '../../core/credential/value.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { checkName } from '../../core/names.ts';
import type { CredentialRecord } from '../../engine/records.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { CredentialView } from '../../protocol/views.ts';
import { viewCredential } from '../credentials/view.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import type { Operations } from './operation.ts';

/** How often a value is sealed anew when somebody else was quicker. */
const TRIES = 5;

/** Credentials: values go in, and never come back. */
export const credentialOperations = {
  async listCredentials({ engine }) {
    const [records, holdings] = await Promise.all([engine.credentials.list(), engine.credentials.holdings()]);
    return { credentials: records.map((record) => viewCredential(record, holdings)) };
  },

  getCredential: ({ engine }, { params: { name } }) => viewOf(engine, name),

  async setCredential(snapshot, { body }) {
    const { name, workers, tags, level } = body;
    checkName('credential', name);
    const choice = { addWorkers: workers, addTags: tags, level };
    const record = await sealAndPut(snapshot, name, valueOf(body), choice);
    return shown(snapshot.engine, record);
  },

  async grantCredential({ engine }, { params: { name }, body: { workers, tags, level } }) {
    return shown(engine, await engine.credentials.put({ name, addWorkers: workers, addTags: tags, level }));
  },

  async revokeCredential({ engine }, { params: { name }, body: { workers, tags } }) {
    return shown(engine, await engine.credentials.put({ name, removeWorkers: workers, removeTags: tags }));
  },

  async removeCredential({ engine }, { params: { name } }) {
    const before = await viewOf(engine, name);
    await engine.credentials.remove(name);
    return before;
  },
} satisfies Operations;

type Engine = EngineSnapshot['engine'];

async function viewOf(engine: Engine, name: string): Promise<CredentialView> {
  return shown(engine, await engine.credentials.get(name));
}

async function shown(engine: Engine, record: CredentialRecord): Promise<CredentialView> {
  return viewCredential(record, await engine.credentials.holdings({ credentials: [record.name] }));
}

/** Sealed under its version, which is part of what is authenticated, so that somebody else may be quicker. */
async function sealAndPut(
  { engine, safe }: EngineSnapshot,
  name: string,
  value: CredentialValue,
  choice: Omit<Parameters<Engine['credentials']['put']>[0], 'name'>,
): Promise<CredentialRecord> {
  if (safe === undefined) throw withoutSecret();
  for (let tries = 1; ; tries++) {
    const version = ((await engine.credentials.find(name))?.version ?? 0) + 1;
    const kind = 'value' in value ? 'text' : 'fields';
    const type = 'value' in value ? undefined : value.type;
    const sealed = { version, sealed: safe.seal(name, version, value), kind, type } as const;
    try {
      return await engine.credentials.put({ ...choice, name, value: sealed });
    } catch (error) {
      if (tries >= TRIES || !isEngineError(error, 'CONFLICT')) throw error;
    }
  }
}

function valueOf({ value, fields, type }: RequestOf<'setCredential'>): CredentialValue {
  if ((value === undefined) === (fields === undefined)) {
    throw fault('INVALID_INPUT', { field: 'value', problem: 'give either a value or fields' });
  }
  if (value !== undefined && type !== undefined)
    throw fault('INVALID_INPUT', { field: 'type', problem: 'only an object of fields has a type' });
  return readValue(JSON.stringify(value === undefined ? { type: type ?? 'fields', fields } : { value }));
}

function withoutSecret(): Error {
  return fault(
    'INVALID_INPUT',
    { field: 'value', problem: 'only who has the secret of the cluster can seal a value, and this process has not' },
    { hint: 'Ask a node that runs ("leasehold up", or --server URL).' },
  );
}
