import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { pathName } from '../shapes/common.ts';
import { Credential, CredentialGrant, CredentialInput, CredentialRevocation } from '../shapes/credential.ts';
import { API } from './address.ts';

const oneCredential = z.strictObject({ name: pathName('The name of a credential') });

/** Credentials: named secrets for chosen workers. No route answers with a value. */
export const CREDENTIAL_ROUTES = {
  listCredentials: route({
    method: 'GET',
    path: `${API}/credentials`,
    access: 'admin',
    does: 'Credentials by name, each with its holders, and never with its value',
    answer: z.object({ credentials: z.array(Credential).readonly() }),
  }),
  setCredential: route({
    method: 'POST',
    path: `${API}/credentials`,
    access: 'admin',
    does: 'Makes a credential or gives it another value, which goes to all its holders. Workers and tags are added to those that may hold it',
    body: CredentialInput,
    answer: Credential,
  }),
  getCredential: route({
    method: 'GET',
    path: `${API}/credentials/{name}`,
    access: 'admin',
    does: 'A credential and its holders, without its value',
    params: oneCredential,
    answer: Credential,
  }),
  removeCredential: route({
    method: 'DELETE',
    path: `${API}/credentials/{name}`,
    access: 'admin',
    does: 'Removes a credential: its value here at once, and at its holders as soon as they hear of it',
    params: oneCredential,
    answer: Credential,
  }),
  grantCredential: route({
    method: 'POST',
    path: `${API}/credentials/{name}/grant`,
    access: 'admin',
    does: 'Gives a credential to more workers, or demands how they keep it',
    params: oneCredential,
    body: CredentialGrant,
    answer: Credential,
  }),
  revokeCredential: route({
    method: 'POST',
    path: `${API}/credentials/{name}/revoke`,
    access: 'admin',
    does: 'Takes a credential away from workers: their label goes at once, and their copy as soon as they hear of it',
    params: oneCredential,
    body: CredentialRevocation,
    answer: Credential,
  }),
} as const satisfies Record<string, Route>;
