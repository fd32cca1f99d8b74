import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).resolve().parent / "order"
LOADER = importlib.machinery.SourceFileLoader("order", str(PATH))
SPEC = importlib.util.spec_from_loader("order", LOADER)
order = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(order)


class Pattern(unittest.TestCase):
    def test_a_method_is_cut_before_its_parameters(self):
        self.assertEqual(
            order.pattern("_ZN6muster4loop4Loop4leadERNS1_6WaiterE"), "_ZN6muster4loop4Loop4leadE*"
        )
        self.assertEqual(
            order.pattern("_ZNK6muster3net4Link6queuedEv"), "_ZNK6muster3net4Link6queuedE*"
        )

    def test_what_the_compiler_cut_off_belongs_to_it(self):
        self.assertEqual(
            order.pattern("_ZN6muster4loop4Loop4parkERN.part.0"), "_ZN6muster4loop4Loop4parkE*"
        )
        self.assertEqual(
            order.pattern("_ZN6muster4loop4Loop4giveEv'2"), "_ZN6muster4loop4Loop4giveE*"
        )

    def test_another_name_is_kept_whole(self):
        handler = "_ZNSt17_Function_handlerIFbvEZN6muster3net12Conversation7receiveEvE"
        self.assertEqual(order.pattern(handler), handler + "*")
        self.assertEqual(
            order.pattern("_ZThn16_N6muster7drivers5flushEv"), "_ZThn16_N6muster7drivers5flushEv*"
        )


class Calls(unittest.TestCase):
    def test_calls_are_summed_over_callers_and_by_abbreviated_name(self):
        lines = ["fn=(1) main", "cfn=(2) f", "calls=3 10", "5 7", "fn=(2)", "1 1"]
        lines += ["fn=(3) g", "cfn=(2)", "calls=4 10", "5 7"]
        report = "\n".join(lines)
        self.assertEqual(order.calls(report), {"f": 7})


if __name__ == "__main__":
    unittest.main()
