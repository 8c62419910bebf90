import type { CredentialStore } from '../../../store.ts';
import {
  ackCredential,
  getCredential,
  listCredentials,
  listHoldings,
  listPending,
  listValues,
  putCredential,
  removeCredential,
  reportVault,
  reseal,
  signerOf,
} from '../../verbs/admin/credential.ts';
import type { StoreParts } from '../store-parts.ts';

export function credentialStore({ calls }: StoreParts): CredentialStore {
  return {
    credentialPut: async (change) => {
      const { type, level, ...record } = await calls.edit('credential', (session) => putCredential(session, change));
      // The answer is kept as JSON, which has no undefined.
      return { ...record, type: type ?? undefined, level: level ?? undefined };
    },
    credentialRemove: ({ name }) => calls.edit('credential', (session) => removeCredential(session, name)),
    credentialList: () => calls.run(listCredentials),
    credentialGet: ({ name }) => calls.run((session) => getCredential(session, name)),
    credentialValues: ({ names }) => calls.run((session) => listValues(session, names)),
    credentialHoldings: (query) => calls.run((session) => listHoldings(session, query)),
    credentialReport: ({ worker, said }) => calls.edit('credential', (session) => reportVault(session, worker, said)),
    credentialAck: ({ worker, credential, ...ack }) =>
      calls.edit('credential', (session) => ackCredential(session, worker, credential, ack)),
    credentialPending: ({ workers }) => calls.run((session) => listPending(session, workers)),
    credentialSigner: (params) => calls.transaction((session) => signerOf(session, params)),
    credentialReseal: (params) =>
      calls.edit('credential', (session) => reseal(session, params).then(() => null)).then(() => {}),
  };
}
