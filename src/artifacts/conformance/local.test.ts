import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { openLocalStore } from '../local/local-store.ts';
import { blobStoreContract } from './suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-blobs-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const store = await openLocalStore(folder);

blobStoreContract('local', () => ({ store, leftovers: () => readdirSync(join(folder, 'uploads')) }));
