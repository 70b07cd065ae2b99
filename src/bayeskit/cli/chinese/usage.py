"""Arguments that cannot be understood, as Typer tells it; its releases use different words."""

MESSAGES = {
    "{path}: Missing argument {name}. See '{path} --help'.": "{path}：缺少参数 {name}。用法见 '{path} --help'。",
    "{path}: Missing option {name}. See '{path} --help'.": "{path}：缺少选项 {name}。用法见 '{path} --help'。",
    "{path}: No such option: {name}. See '{path} --help'.": "{path}：没有选项 {name}。用法见 '{path} --help'。",
    "{path}: No such option {name}. See '{path} --help'.": "{path}：没有选项 {name}。用法见 '{path} --help'。",
    "{path}: No such option {name}. (Did you mean one of: {list}?). See '{path} --help'.": (
        "{path}：没有选项 {name}，是不是 {list}？用法见 '{path} --help'。"
    ),
    "{path}: No such option {name}. Did you mean {other}? See '{path} --help'.": (
        "{path}：没有选项 {name}，是不是 {other}？用法见 '{path} --help'。"
    ),
    "{path}: No such option: {name} (Possible options: {list}). See '{path} --help'.": (
        "{path}：没有选项 {name}，是不是 {list}？用法见 '{path} --help'。"
    ),
    "{path}: No such option: {name} Did you mean {other}? See '{path} --help'.": (
        "{path}：没有选项 {name}，是不是 {other}？用法见 '{path} --help'。"
    ),
    "{path}: No such command {name}. See '{path} --help'.": "{path}：没有命令 {name}。用法见 '{path} --help'。",
    "{path}: No such command {name}. Did you mean {list}? See '{path} --help'.": (
        "{path}：没有命令 {name}，是不是 {list}？用法见 '{path} --help'。"
    ),
    "{path}: Missing command. See '{path} --help'.": "{path}：缺少命令。用法见 '{path} --help'。",
    "{path}: Option {name} requires an argument. See '{path} --help'.": (
        "{path}：选项 {name} 后面要有一个值。用法见 '{path} --help'。"
    ),
    "{path}: Option {name} does not take a value. See '{path} --help'.": (
        "{path}：选项 {name} 不带值。用法见 '{path} --help'。"
    ),
    "{path}: Got unexpected extra argument(s) ({names}). See '{path} --help'.": (
        "{path}：多出了参数（{names}）。用法见 '{path} --help'。"
    ),
    "{path}: Got unexpected extra argument ({names}). See '{path} --help'.": (
        "{path}：多出了参数（{names}）。用法见 '{path} --help'。"
    ),
    "{path}: Got unexpected extra arguments ({names}). See '{path} --help'.": (
        "{path}：多出了参数（{names}）。用法见 '{path} --help'。"
    ),
    "{path}: Invalid value for {name}: {value} is not one of {list}. See '{path} --help'.": (
        "{path}：{name} 的值 {value} 不可用，应为 {list} 之一。用法见 '{path} --help'。"
    ),
    "{path}: Invalid value for {name}: Input should be a valid integer, unable to parse string as an integer. "
    "See '{path} --help'.": "{path}：{name} 的值应为整数。用法见 '{path} --help'。",
    "{path}: Invalid value for {name}: Input should be a valid number, unable to parse string as a number. "
    "See '{path} --help'.": "{path}：{name} 的值应为数字。用法见 '{path} --help'。",
    "{path}: Invalid value for {name}: Input should be greater than or equal to {least}. See '{path} --help'.": (
        "{path}：{name} 的值不能小于 {least}。用法见 '{path} --help'。"
    ),
    "{path}: Invalid value for {name}: Input should be less than or equal to {most}. See '{path} --help'.": (
        "{path}：{name} 的值不能大于 {most}。用法见 '{path} --help'。"
    ),
    "{path}: Invalid value for {name}: {value} is not a valid integer. See '{path} --help'.": (
        "{path}：{name} 的值 {value} 不是整数。用法见 '{path} --help'。"
    ),
    "{path}: Invalid value for {name}: {value} is not a valid integer range. See '{path} --help'.": (
        "{path}：{name} 的值 {value} 不是整数。用法见 '{path} --help'。"
    ),
    "{path}: Invalid value for {name}: {value} is not a valid float. See '{path} --help'.": (
        "{path}：{name} 的值 {value} 不是数字。用法见 '{path} --help'。"
    ),
    "{path}: Invalid value for {name}: {value} is not in the range {range}. See '{path} --help'.": (
        "{path}：{name} 的值 {value} 不在范围 {range} 内。用法见 '{path} --help'。"
    ),
}
