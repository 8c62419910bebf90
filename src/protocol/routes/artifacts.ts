import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { Artifact, ArtifactUsage, oneArtifact, SignedAddress } from '../shapes/artifact.ts';
import { Paging, pathName, Switch } from '../shapes/common.ts';
import { API } from './address.ts';

/** Files that tasks leave behind. */
export const ARTIFACT_ROUTES = {
  listArtifacts: route({
    method: 'GET',
    path: `${API}/artifacts`,
    access: 'read',
    does: 'Artifacts, the newest first; without a filter those of all tasks',
    query: z.strictObject({
      task: pathName('Only those of this task').optional(),
      run: pathName('Only those of the tasks of this run').optional(),
      name: z.string().min(1).max(1000).optional().describe('Only those of this name'),
      ...Paging,
    }),
    answer: z.object({ artifacts: z.array(Artifact).readonly(), cursor: z.string().optional() }),
  }),
  artifactUsage: route({
    method: 'GET',
    path: `${API}/artifacts/usage`,
    access: 'read',
    does: 'How many artifacts there are and how much room they take, those that are under way included',
    answer: ArtifactUsage,
  }),
  getArtifact: route({
    method: 'GET',
    path: `${API}/artifacts/{id}`,
    access: 'read',
    does: 'What is known of an artifact',
    params: oneArtifact,
    answer: Artifact,
  }),
  readArtifact: route({
    method: 'GET',
    path: `${API}/artifacts/{id}/content`,
    access: 'read',
    does: 'The bytes of an artifact, or the range of them that is asked for. With inline=1 a browser shows texts and pictures instead of saving them',
    params: oneArtifact,
    query: z.strictObject({ inline: Switch }),
    answer: z.string(),
    text: 'bytes',
  }),
  removeArtifact: route({
    method: 'DELETE',
    path: `${API}/artifacts/{id}`,
    access: 'operator',
    does: 'Removes an artifact; its bytes are swept a little later. With dryRun=1 it only says what would go',
    params: oneArtifact,
    query: z.strictObject({ dryRun: Switch }),
    answer: Artifact,
  }),
  sendBytes: route({
    method: 'PUT',
    path: `${API}/artifacts/{id}/bytes`,
    access: 'open',
    does: 'Takes the bytes of an artifact that was announced, at the address that its maker was given',
    params: oneArtifact,
    query: SignedAddress,
    signed: 'put',
    bytes: true,
    answer: z.null(),
    status: 204,
  }),
  fetchBytes: route({
    method: 'GET',
    path: `${API}/artifacts/{id}/bytes`,
    access: 'open',
    does: 'The bytes of an artifact, at the address that a worker was given, or a range of them',
    params: oneArtifact,
    query: SignedAddress,
    signed: 'get',
    answer: z.string(),
    text: 'bytes',
  }),
} as const satisfies Record<string, Route>;
