import { freshDatabase } from '../../../test/support/postgres.ts';
import { postgresContract } from '../../../test/support/postgres-contract.ts';
import { storeContract } from '../../testing.ts';

storeContract(await postgresContract({ name: 'postgres', url: await freshDatabase('contract') }));
