import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { bundleHash, SignedManifest, UpgradeEdit, UpgradePolicy, UpgradeStatus } from '../shapes/release.ts';
import { API } from './address.ts';

/** Releases of the worker, for whoever installs one, and which worker should run which. */
export const RELEASE_ROUTES = {
  installScript: route({
    method: 'GET',
    path: '/install.sh',
    access: 'open',
    does: 'The script that installs a worker; it is the same for everybody',
    answer: z.string(),
    text: 'shell',
  }),
  releaseManifest: route({
    method: 'GET',
    path: '/release/manifest.json',
    access: 'open',
    does: 'The signed manifest of the release that this node serves',
    answer: SignedManifest,
  }),
  releaseBundle: route({
    method: 'GET',
    path: '/release/bundle/{sha256}',
    access: 'open',
    does: 'The bundle of that release, by its hash',
    params: bundleHash,
    answer: z.string(),
    text: 'bytes',
  }),
  getUpgrade: route({
    method: 'GET',
    path: `${API}/upgrade`,
    access: 'read',
    does: 'Which release workers should run, and which they do',
    answer: UpgradeStatus,
  }),
  editUpgrade: route({
    method: 'PATCH',
    path: `${API}/upgrade`,
    access: 'admin',
    does: 'Says which release workers should run: a target, a share, pins, refusals',
    body: UpgradeEdit,
    answer: UpgradePolicy,
  }),
} as const satisfies Record<string, Route>;
