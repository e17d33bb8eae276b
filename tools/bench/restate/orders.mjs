// The order handler of src/handler/order.rs on Restate: the same checks, the same answer. Restate keeps the result under
// the caller's Idempotency-Key; nothing else is asked of it, so an invocation is one entry in its journal beside its input.

import "./with-resolvers.mjs";
import * as restate from "@restatedev/restate-sdk";

const PRODUCT_ID_MAX = Number.MAX_SAFE_INTEGER;
const QUANTITY_MAX = 1000;

const isCount = (value, max) => Number.isSafeInteger(value) && value >= 1 && value <= max;

const orders = restate.service({
  name: "orders",
  handlers: {
    create: async (context, order) => {
      const members = Object.keys(order ?? {});
      if (members.length !== 2 || !isCount(order.product_id, PRODUCT_ID_MAX) || !isCount(order.quantity, QUANTITY_MAX)) {
        throw new restate.TerminalError("not an order", { errorCode: 400 });
      }
      return {
        id: context.rand.uuidv4(),
        product_id: order.product_id,
        quantity: order.quantity,
        created_at: new Date().toISOString(),
      };
    },
  },
});

const port = Number(process.argv[2]);
restate.serve({ services: [orders], port });
