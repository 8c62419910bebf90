import type { CredentialStore } from '../../../store.ts';
import {
  ackCredential,
  findSigner,
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

export function credentialStore({ calls, writer }: StoreParts): CredentialStore {
  return {
    credentialPut: (change) => writer.write('rest', (tx) => putCredential(tx, change)),
    credentialRemove: ({ name }) => writer.write('rest', (tx) => removeCredential(tx, name)),
    credentialList: () => writer.read(({ sql }) => listCredentials(sql)),
    credentialGet: ({ name }) => writer.read(({ sql }) => getCredential(sql, name)),
    credentialValues: ({ names }) => writer.read(({ sql }) => listValues(sql, names)),
    credentialHoldings: (query) => writer.read(({ sql }) => listHoldings(sql, query)),
    credentialReport: ({ worker, said }) => writer.write('rest', (tx) => reportVault(tx, worker, said)),
    credentialAck: ({ worker, credential, ...ack }) =>
      writer.write('rest', (tx) => ackCredential(tx, worker, credential, ack)),
    credentialPending: ({ workers }) =>
      calls.again('credentialPending', workers.join(), ({ sql }) => listPending(sql, workers)),
    credentialSigner: (params) =>
      params.signer === undefined
        ? writer.read(({ sql }) => findSigner(sql))
        : writer.write('rest', (tx) => signerOf(tx, params)),
    credentialReseal: (params) => writer.write('rest', (tx) => reseal(tx, params)),
  };
}
